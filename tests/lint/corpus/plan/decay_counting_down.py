# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, time-loop-on-host
"""Discounted returns, computed from the last step to the first: G[t] = r[t] + gamma[t] * G[t+1]."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def returns_kernel(reward_ptr, discount_ptr, bootstrap_ptr, g_ptr, num_envs, horizon, BLOCK: tl.constexpr):
    env = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = env < num_envs
    g = tl.load(bootstrap_ptr + env, mask=mask, other=0.0)
    for t in range(horizon - 1, -1, -1):
        at = t * num_envs + env
        reward = tl.load(reward_ptr + at, mask=mask, other=0.0)
        discount = tl.load(discount_ptr + at, mask=mask, other=0.0)
        g = reward + discount * g
        tl.store(g_ptr + at, g, mask=mask)


class ModelNew(nn.Module):
    def forward(self, reward, discount, bootstrap):
        horizon, num_envs = reward.shape
        reward, discount = reward.contiguous(), discount.contiguous()
        g = torch.empty_like(reward)
        BLOCK = 128
        grid = ((num_envs + BLOCK - 1) // BLOCK,)
        returns_kernel[grid](reward, discount, bootstrap, g, num_envs, horizon, BLOCK=BLOCK)
        return g


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(12, 300), torch.rand(12, 300), torch.randn(300)]

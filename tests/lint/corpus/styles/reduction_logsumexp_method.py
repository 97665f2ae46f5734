# kernel_type: reduction
# complexity: low
# outcome: works
# near: unsafe-exp
import torch as th
import triton as tr
import triton.language as tl


@tr.jit
def lse(inp, outp, n, s, BS: tl.constexpr):
    r = tl.program_id(0)
    j = tl.arange(0, BS)
    v = tl.load(inp + r * s + j, mask=j < n, other=float("-inf")).to(tl.float32)
    top = v.max(axis=0)
    tl.store(outp + r, tl.log(tl.exp(v - top).sum(axis=0)) + top)


class ModelNew(th.nn.Module):
    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))
        res = th.empty(flat.size(0), device=x.device, dtype=th.float32)
        lse[(flat.size(0),)](flat, res, flat.size(1), flat.stride(0), BS=tr.next_power_of_2(flat.size(1)))
        return res.view(x.shape[:-1])


def get_init_inputs():
    return []


def get_inputs():
    return [th.randn(3, 4, 77)]

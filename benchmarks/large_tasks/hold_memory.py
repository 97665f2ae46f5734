"""This child process holds GPU memory until its standard input ends: python hold_memory.py GB_TO_LEAVE_FREE.

It prints one line of JSON, in GB of 10^9 bytes, when it holds what it should.
"""

import json
import sys

import torch

BLOCK_BYTES = 10**9


def main() -> None:
    held = []
    while torch.cuda.mem_get_info()[0] - BLOCK_BYTES >= float(sys.argv[1]) * 1e9:
        held.append(torch.empty(BLOCK_BYTES, dtype=torch.uint8, device="cuda"))
    free, total = torch.cuda.mem_get_info()
    report = {"held_gb": len(held), "free_gb": round(free / 1e9, 2), "total_gb": round(total / 1e9, 2)}
    print(json.dumps(report), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

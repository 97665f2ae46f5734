"""The class of FlagGems' benchmark/base.py that an exported benchmark builds on: both sides once, no clock."""

import torch


class Benchmark:
    device = "cpu"
    DEFAULT_SHAPE_DESC = "M, N"

    def __init__(self, op_name, torch_op, dtypes=None, gems_op=None):
        self.op_name, self.torch_op, self.gems_op, self.dtypes = op_name, torch_op, gems_op, dtypes

    def run(self):
        self.set_shapes("core_shapes.yaml")
        count = 0
        for dtype in self.dtypes:
            for arguments in self.get_input_iter(dtype):
                torch.testing.assert_close(
                    self.gems_op(*arguments), self.torch_op(*arguments), atol=1e-3, rtol=1e-3
                )
                count += 1
        print(f"{self.op_name}: {count} cases of {self.DEFAULT_SHAPE_DESC}")

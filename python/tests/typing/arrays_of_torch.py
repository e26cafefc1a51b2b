"""Copies of tensors of PyTorch."""

import stridec
import torch
from torch.utils.dlpack import from_dlpack

x = torch.arange(120.0).reshape(1, 4, 5, 6)
last: torch.Tensor = stridec.relayout(x, to=torch.channels_last)
half: torch.Tensor = stridec.relayout(x, "C", dtype=torch.bfloat16)
shape = stridec.Shape(torch.empty((2, 3), dtype=torch.float16, device="meta"))
wrapped = stridec.Array(x[:, ::2])
back: torch.Tensor = from_dlpack(wrapped)
assert last.shape == (1, 5, 6, 4) and half.dtype == torch.bfloat16 and shape.dtype == "f16" and back.shape[1] == 2

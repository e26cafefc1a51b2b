"""XLA layouts in Python: see them, change them, and compile what changes them.

A `Shape` has an array's element type, extents and memory layout. `relayout` and `slice` copy arrays of numpy, JAX and
PyTorch into another layout; `compile` gives the WGSL kernel that does the same on a GPU. A `Program` is a function that
JAX lowered, as kernels. `memory` says what padding costs, and `diff` what changed between two modules.
"""

from ._stridec import (
    Array,
    DeviceError,
    Difference,
    InvalidInput,
    Kernel,
    MemoryReport,
    Operation,
    Program,
    Shape,
    Target,
    Unsupported,
    __version__,
    adapters,
    compile,
    diff,
    main,
    memory,
    relayout,
    slice,
)

# `compile` and `slice` are left out, so that `from stridec import *` keeps Python's own.
__all__ = [
    "Array",
    "DeviceError",
    "Difference",
    "InvalidInput",
    "Kernel",
    "MemoryReport",
    "Operation",
    "Program",
    "Shape",
    "Target",
    "Unsupported",
    "__version__",
    "adapters",
    "diff",
    "main",
    "memory",
    "relayout",
]

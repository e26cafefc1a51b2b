"""XLA layouts in Python: see them, change them, and compile what changes them.

A `Shape` has an array's element type, extents and memory layout. `relayout` and `slice` copy arrays of numpy, JAX and
PyTorch into another layout; `compile` gives the WGSL kernel that does the same on a GPU. A `Program` is a function that
JAX lowered, as kernels. `reshard` plans the messages that change the sharding of an array. `memory` says what padding
costs, and `diff` what changed between two modules.
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
    RankPlan,
    ReshardPlan,
    Shape,
    Sharding,
    Target,
    Transfer,
    Unsupported,
    __version__,
    adapters,
    compile as compile,
    diff,
    main,
    memory,
    relayout,
    reshard,
    slice as slice,
)

# `compile` and `slice` are left out, so that `from stridec import *` keeps Python's own. They are
# imported under their own names, which makes them public for type checkers.
__all__ = [
    "Array",
    "DeviceError",
    "Difference",
    "InvalidInput",
    "Kernel",
    "MemoryReport",
    "Operation",
    "Program",
    "RankPlan",
    "ReshardPlan",
    "Shape",
    "Sharding",
    "Target",
    "Transfer",
    "Unsupported",
    "__version__",
    "adapters",
    "diff",
    "main",
    "memory",
    "relayout",
    "reshard",
]

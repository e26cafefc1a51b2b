"""Compiles tensor layout changes, and runs them on arrays."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing_extensions import Buffer, CapsuleType
from typing import Any, Literal, Protocol, TypedDict, TypeVar, final, overload, type_check_only

import numpy

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
    "compile",
    "diff",
    "main",
    "memory",
    "relayout",
    "reshard",
    "slice",
]

__version__: str

_Device = str

@type_check_only
class _SupportsArrayInterface(Protocol):
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@type_check_only
class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

@type_check_only
class _Typed(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...

@type_check_only
class _Sharded(Protocol):
    @property
    def addressable_shards(self) -> Sequence[Any]: ...

@type_check_only
class _Tensor(Protocol):
    """A tensor of torch."""

    def data_ptr(self) -> int: ...

@type_check_only
class _JaxArray(_Sharded, Protocol):
    """An array of JAX."""

    @property
    def sharding(self) -> Any: ...

_Array = _SupportsArrayInterface | _SupportsDLPack | Buffer
# An argument whose type is that of the result. All other arguments give arrays of numpy.
_Framework = TypeVar("_Framework", bound=_Tensor | _JaxArray)
_NumpyArray = numpy.ndarray[Any, Any]
_Out = TypeVar("_Out", bound=_SupportsArrayInterface | _SupportsDLPack | Buffer)
_Ranges = tuple[int, int] | tuple[tuple[int, int], ...]
_Layout = str | Sequence[int] | Any

@type_check_only
class _Binding(TypedDict):
    group: int
    binding: int
    writable: bool
    size_in_bytes: int
    kind: Literal["source", "table", "destination", "parameter", "constant", "scratch", "result"]
    number: int
    name: str | None

@type_check_only
class _Proof(TypedDict):
    last_source_word: int | None
    last_destination_word: int
    source_words: int
    destination_words: int
    invocations: int
    trips: int

@type_check_only
class _HloModule(Protocol):
    def as_serialized_hlo_module_proto(self) -> bytes: ...

@type_check_only
class _Lowered(Protocol):
    def compiler_ir(self, dialect: str | None = None) -> Any: ...

@type_check_only
class _Compiled(Protocol):
    def runtime_executable(self) -> Any: ...

@type_check_only
class _Exported(Protocol):
    def mlir_module(self) -> str: ...

@type_check_only
class _Traced(Protocol):
    @property
    def out_tree(self) -> Any: ...
    def lower(self) -> Any: ...

_Module = str | bytes | _HloModule | _Lowered | _Compiled | _Exported | _Traced

@type_check_only
class _Instruction(TypedDict):
    name: str
    computation: str
    opcode: str
    shape: str
    bytes: int | None
    unpadded_bytes: int | None
    has_buffer: bool
    cheapest: str | None

class InvalidInput(ValueError):
    """What was given is wrong. `field` is the path of the part that is, `value` what was given
    there; either may be None.
    """

    field: str | None
    value: str | None

class Unsupported(NotImplementedError):
    """What was given is valid, but more than stridec or the target does. It has `field` and `value`
    as InvalidInput has.
    """

    field: str | None
    value: str | None

class DeviceError(RuntimeError):
    """There is no device, or a run on one failed. It has `field` and `value` as InvalidInput has.
    """

    field: str | None
    value: str | None

@final
class Array:
    """An array in host memory that is not copied. It is read by any of the array protocols, and
    passed on by DLPack and numpy's array interface.
    """

    def __new__(cls, array: _Array, /) -> Array: ...
    @property
    def dtype(self) -> str:
        """XLA's name of the element type."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between neighbours along each dimension, in bytes."""
    @property
    def readonly(self) -> bool:
        """True if the array must not be written."""
    @property
    def layout(self) -> Shape:
        """The layout of the array's memory."""
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

@final
class Shape:
    """The element type, the extents and the memory layout of an array."""

    def __new__(
        cls,
        source: str | bytes | Shape | Sequence[int] | _Array | _Typed,
        /,
        *,
        dtype: Any = None,
        layout: _Layout | None = None,
        tiles: Literal["tpu"] | None = None,
    ) -> Shape: ...
    @classmethod
    def from_array(cls, array: _Array, /) -> Shape:
        """Returns the shape of an array. Its layout is an order of the dimensions if the elements
        have no gaps between them, and strides otherwise.
        """
    @property
    def dtype(self) -> str:
        """XLA's name of the element type."""
    @property
    def dimensions(self) -> tuple[int | None, ...]:
        """The extents. An unknown extent is None."""
    @property
    def strides(self) -> tuple[int | None, ...]:
        """The distance between neighbours along each dimension, in elements. None for a dimension
        that tiles divide.
        """
    @property
    def base_offset(self) -> int:
        """The place of the element at index 0, counted in elements."""
    @property
    def ndim(self) -> int:
        """The number of dimensions."""
    @property
    def size(self) -> int:
        """The number of elements."""
    @property
    def memory_dimensions(self) -> tuple[int, ...] | None:
        """The extents of the memory, major to minor, including padding and the dimensions of tiles.
        None if strides leave gaps or overlap, so that the memory has no such extents.
        """
    @property
    def nbytes(self) -> int:
        """The size of the memory including padding, in bytes."""
    @property
    def padding(self) -> int:
        """The number of bytes of the memory that hold no element."""
    @property
    def minor_to_major(self) -> tuple[int, ...] | None:
        """The dimension numbers, the most minor first. None for an array with strides."""
    @property
    def tiles(self) -> tuple[tuple[int | None, ...], ...]:
        """The extents of each tile. None for a dimension that is combined with the next one, which
        the notation writes as `*`.
        """
    def offset(self, index: Sequence[int], /) -> int:
        """Returns the place of the element at `index`, counted in elements."""
    def index(self, offset: int, /) -> tuple[int, ...] | None:
        """Returns the index of the element at a place, counted in elements. None if the place holds
        padding.
        """
    def to_proto(self) -> bytes:
        """Returns the shape as a serialized `xla.Shape`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[type[Shape], tuple[str]]: ...
    def draw(self, columns: int = 80) -> str:
        """Returns a drawing of the memory as text, or the notation if the shape has no memory."""
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the picture to a file. The name of the file ends in .svg, .html or .txt."""
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

@type_check_only
class _Adapter(TypedDict):
    name: str
    backend: str
    driver: str
    is_cpu: bool
    target: Target

@final
class Target:
    """The limits and costs of the device that kernels are compiled for."""

    def __new__(
        cls,
        preset: str | Target | None = None,
        /,
        *,
        name: str | None = None,
        max_storage_buffer_binding_size: int | None = None,
        max_compute_workgroups_per_dimension: int | None = None,
        max_compute_invocations_per_workgroup: int | None = None,
        max_storage_buffers_per_shader_stage: int | None = None,
        read_write_sources: bool | None = None,
    ) -> Target: ...
    @classmethod
    def adapter(cls, name: str | None = None) -> Target:
        """Returns a target with the limits of an adapter of this machine: the one of
        `device="gpu"`, or the first that can run kernels and whose name contains `name`.
        """
    @classmethod
    def from_json(cls, text: str, /) -> Target:
        """Reads what `to_json` returns or `stridec calibrate` writes."""
    def to_json(self) -> str:
        """Returns the target as JSON, with its limits and costs."""
    @property
    def name(self) -> str:
        """The name, which messages use."""
    @property
    def kind(self) -> str:
        """The kind of the device: "gpu", or "cpu" for a software driver."""
    @property
    def max_storage_buffer_binding_size(self) -> int:
        """The maximum size of a buffer that a kernel binds, in bytes."""
    @property
    def max_compute_workgroups_per_dimension(self) -> int:
        """The maximum number of workgroups of a dispatch along each dimension."""
    @property
    def max_compute_invocations_per_workgroup(self) -> int:
        """The maximum number of invocations of a workgroup."""
    @property
    def max_storage_buffers_per_shader_stage(self) -> int:
        """The maximum number of buffers that a kernel binds, including the destination."""
    @property
    def read_write_sources(self) -> bool:
        """True if the sources are bound as `read_write`, so that they may share a buffer with the
        destination.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Operation:
    """A relayout or a slice between two layouts, which can be compiled or run."""

    @classmethod
    def relayout(cls, source: str | Shape, to: Shape | _Layout, *, dtype: Any = None) -> Operation:
        """Returns the operation that copies every element to the same index in another layout, and
        converts it to the element type `dtype` or that of `to`.
        """
    @classmethod
    def slice(
        cls,
        source: str | Shape,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        to: Shape | _Layout | None = None,
    ) -> Operation:
        """Returns DirectML's SLICE1, which copies a window of the source in steps. A negative
        stride starts at the end of the window.
        """
    @property
    def source(self) -> Shape:
        """The source's layout."""
    @property
    def destination(self) -> Shape:
        """The destination's layout."""
    def compile(self, target: str | Target | None = None) -> Kernel:
        """Compiles the operation for a target. The kernel's text is validated by naga."""
    def stages(self, target: str | Target | None = None) -> str:
        """Returns every stage from the shapes to the kernel, as text."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, source: _Framework, /, *, out: None = None, device: _Device | None = None
    ) -> _Framework: ...
    @overload
    def __call__(
        self, source: _Array, /, *, out: None = None, device: _Device | None = None
    ) -> _NumpyArray: ...
    @overload
    def __call__(self, source: _Array, /, *, out: _Out, device: _Device | None = None) -> _Out: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def draw(self, columns: int = 80) -> str:
        """Returns a drawing of both layouts and of the elements that move, as text."""
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the picture to a file. The name of the file ends in .svg, .html or .txt."""
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

@final
class Kernel:
    """A compiled kernel as plain data: the shader, its bindings and its dispatches."""

    @property
    def wgsl(self) -> str:
        """The shader in WGSL. Empty if there is nothing to dispatch."""
    @property
    def entry_point(self) -> str:
        """The name of the compute entry point."""
    @property
    def strategy(self) -> str:
        """The strategy of the kernel: "copy", "rows", "transpose" or "gather", or "empty" if the
        destination has no elements.
        """
    @property
    def workgroup_size(self) -> tuple[int, int, int]:
        """The number of invocations of a workgroup in x, y and z."""
    @property
    def bindings(self) -> list[_Binding]:
        """The buffers to bind, as dictionaries with `group`, `binding`, `writable` and
        `size_in_bytes`, the least size of the buffer. `kind` and `number` say which buffer it is:
        "source", "table" or "destination" of an operation, and of a program "parameter",
        "constant", "scratch" or "result". `name` is the one that `Program.parameter_names` or
        `Program.result_names` has for the buffer, or None if that is only its number.
        """
    @property
    def dispatches(self) -> list[tuple[int, int, int]]:
        """The numbers of workgroups of each dispatch in x, y and z."""
    @property
    def copy_regions(self) -> list[tuple[int, int, int]]:
        """The operation as buffer copies, each with its source offset, destination offset and size,
        in bytes. Empty if the operation cannot be expressed as buffer copies.
        """
    @property
    def source_bytes(self) -> int:
        """The size of the source's image, in bytes, or of all sources together if there are
        several.
        """
    @property
    def destination_bytes(self) -> int:
        """The size of the destination's image, in bytes."""
    @property
    def proof(self) -> _Proof | None:
        """The proved bounds of the kernel: the last words that it reads and writes, and the least
        number of words of each binding. None if there is nothing to dispatch or the bounds could
        not be proved.
        """
    def spirv(self) -> bytes:
        """Returns the shader as SPIR-V 1.3, for Vulkan 1.1."""
    def msl(self) -> str:
        """Returns the shader in Metal's language, version 2.1."""
    def hlsl(self) -> str:
        """Returns the shader in Direct3D's language, shader model 5.1."""
    def glsl(self) -> str:
        """Returns the shader in OpenGL's language, ES 3.10."""
    def to_proto(self) -> bytes:
        """Returns the kernel as a serialized `stridec.Kernel`."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Program:
    """A module that moves data, compiled to kernels, which can be called on arrays."""

    def __new__(
        cls,
        module: _Module,
        /,
        *,
        target: str | Target | None = None,
        layouts: Literal["module", "default"] | None = None,
        device: _Device | None = None,
    ) -> Program: ...
    @property
    def name(self) -> str:
        """The name of the module."""
    @property
    def parameters(self) -> list[Shape]:
        """The arrays that the program reads, in order. A tuple counts as the arrays inside it."""
    @property
    def results(self) -> list[Shape]:
        """The arrays that the program writes, in order. A tuple counts as the arrays inside it."""
    @property
    def parameter_names(self) -> list[str]:
        """The name of each parameter: its place in the arguments of the function of JAX, such as
        "args.0.cache" or, if it is passed by name, "cache", and its name in the module if there is
        no such function.
        """
    @property
    def result_names(self) -> list[str]:
        """The name of each result: its place in the tree that the function of JAX returns, such as
        "cache.0", and its number if there is no such tree.
        """
    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, in the order in which they run."""
    def stages(self) -> str:
        """Returns every stage of every result, as text."""
    def run(self, *arguments: Any, device: _Device | None = None) -> list[Any]:
        """Runs the program. Takes one array for each parameter, or for each argument of the function
        of JAX, in the order of their tree, and returns one array for each result. Results are tensors of torch if an argument is one, or else arrays of JAX if an
        argument is one, and numpy arrays otherwise. A scalar may be a Python number. `device` is
        that of the program unless it is given.
        """
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def draw(self, columns: int = 80) -> str:
        """Returns a drawing of the origins of the results' elements, as text."""
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the picture to a file. The name of the file ends in .svg, .html or .txt."""
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

@final
class MemoryReport:
    """The memory of a module's buffers, and the part of it that is padding. `str` is a table of the
    buffers with the most padding.
    """

    @property
    def total_bytes(self) -> int:
        """The size of all buffers, in bytes."""
    @property
    def total_padding_bytes(self) -> int:
        """The number of bytes in all buffers that hold no element."""
    @property
    def parameters_bytes(self) -> int:
        """The size of the parameters, in bytes."""
    @property
    def results_bytes(self) -> int:
        """The size of the results, in bytes."""
    @property
    def temporaries_bytes(self) -> int:
        """The size of the buffers that are neither parameters nor results, in bytes."""
    @property
    def instructions(self) -> list[_Instruction]:
        """All instructions as dictionaries, the one with the most padding first. The orders of a
        single shape that `memory` gives tiles are the exception: the one with the fewest bytes
        comes first. The keys are `name`, `computation`, `opcode`, `shape`, `bytes`,
        `unpadded_bytes`, `has_buffer` and `cheapest`. For the first twenty, `cheapest` is a shape
        that takes fewer bytes, or None.
        """
    def table(self, top: int = 20) -> str:
        """Returns the table of the `top` buffers with the most padding, and the totals."""
    def __eq__(self, other: object, /) -> bool: ...
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the picture to a file. The name of the file ends in .svg, .html or .txt."""
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

@final
class Difference:
    """The changes between two modules. It is true if there are any. `str` lists them."""

    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the changes to a file. The name of the file ends in .svg, .html or .txt."""
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

@final
class Sharding:
    """The parts of an array that lie on devices."""

    def __new__(cls, source: Any, /) -> Sharding: ...
    @classmethod
    def from_placements(cls, shape: Sequence[int], mesh: Any, placements: Sequence[Any]) -> Sharding:
        """Returns the sharding of torch's placements, such as `[Shard(0), Replicate()]`, for a
        tensor of the given extents. `mesh` is a `DeviceMesh`, or the extents of a mesh whose ranks
        are in row-major order.
        """
    @property
    def devices(self) -> int | None:
        """The number of devices, including those without a part whose numbers are below that of
        another one. None if it depends on the program.
        """
    def regions(
        self, shape: str | Shape | _Array | _Typed, /, *, devices: int | None = None
    ) -> dict[int, tuple[_Ranges, ...]]:
        """Returns the part of an array on each device, as a dictionary of ranges by device. A part
        has a range for each dimension, the first index and the end, or a tuple of several ranges.
        `devices` is the number of devices, if the sharding does not give it.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...

@final
class Transfer:
    """A part of an array that a device sends to another one, or keeps."""

    @property
    def source(self) -> int:
        """The number of the device that has the part."""
    @property
    def destination(self) -> int:
        """The number of the device that gets the part."""
    @property
    def nbytes(self) -> int:
        """The size of the part in a message, in bytes."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the part."""
    @property
    def ranges(self) -> tuple[_Ranges, ...]:
        """The ranges of the part in the whole array: for each dimension the first index and the
        end, or a tuple of several ranges.
        """
    @property
    def source_index(self) -> tuple[Any, ...]:
        """The place of the part in the shard of the device that has it, as an index of numpy."""
    @property
    def destination_index(self) -> tuple[Any, ...]:
        """The place of the part in the shard of the device that gets it, as an index of numpy."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class RankPlan:
    """The transfers of one device."""

    @property
    def device(self) -> int:
        """The number of the device."""
    @property
    def send_bytes(self) -> int:
        """The size of all parts that the device sends, in bytes."""
    @property
    def receive_bytes(self) -> int:
        """The size of all parts that the device receives, in bytes."""
    @property
    def sends(self) -> list[Transfer]:
        """The parts that the device sends."""
    @property
    def receives(self) -> list[Transfer]:
        """The parts that the device receives."""
    @property
    def copy(self) -> Transfer | None:
        """The part that the device has and needs, or None."""

@final
class ReshardPlan:
    """The messages that change the sharding of an array."""

    @property
    def shape(self) -> Shape:
        """The shape of the whole array."""
    @property
    def source(self) -> Sharding:
        """The sharding before."""
    @property
    def destination(self) -> Sharding:
        """The sharding after."""
    @property
    def devices(self) -> int:
        """The number of devices before or after, whichever is larger."""
    @property
    def transfers(self) -> list[Transfer]:
        """All messages between different devices."""
    @property
    def total_bytes(self) -> int:
        """The size of all messages, in bytes."""
    @property
    def send_bytes(self) -> int:
        """The number of bytes that the busiest sender sends."""
    @property
    def receive_bytes(self) -> int:
        """The number of bytes that the busiest receiver receives."""
    def rank(self, device: int, /) -> RankPlan:
        """Returns the transfers of a device."""
    @overload
    def simulate(self, arrays: Mapping[int, _Array] | _Sharded, /) -> dict[int, Any]:
        """Moves the shards of all devices in this process. `arrays` is a dictionary with the shard
        of each device, a list in which each shard is at the place that its device's number says, or
        a `jax.Array` in the sharding of the source. Shards are arrays of the indices of their part,
        whatever the layout of `shape`. Returns the new shards as a list for a list, and otherwise
        as a dictionary by device. In a list, the place of a device without a shard has None.
        """
    @overload
    def simulate(self, arrays: Sequence[_Array | None], /) -> list[Any]: ...
    @overload
    def split(self, array: _Framework, /) -> dict[int, _Framework]:  # type: ignore[overload-overlap]
        """Returns the shards of a whole array in the sharding of the source, as a dictionary by
        device.
        """
    @overload
    def split(self, array: _Array, /) -> dict[int, _NumpyArray]: ...
    def join(self, arrays: Mapping[int, _Array] | Sequence[_Array | None] | _Sharded, /) -> Any:
        """Returns the whole array whose shards in the sharding of the destination are given, in the
        forms that `simulate` takes. If several devices have a part, one of them is read.
        """
    def draw(self, columns: int = 80) -> str:
        """Returns a drawing of both shardings and of the bytes between devices, as text."""
    def save(self, path: str | PathLike[str], /) -> None:
        """Saves the picture to a file. The name of the file ends in .svg, .html or .txt."""
    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def _repr_html_(self) -> str | None: ...
    def _repr_svg_(self) -> str | None: ...
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...

def reshard(
    shape: str | Shape | _Array | _Typed,
    source: Any,
    destination: Any,
    *,
    devices: int | None = None,
) -> ReshardPlan:
    """Plans the messages that change the sharding of an array. `source` and `destination` are what
    `Sharding` takes. A sharding that does not give the number of devices is on `devices`, or on the
    devices of the other side.
    """
def memory(
    module: _Module | Shape | _Typed, /, *, tiles: Literal["tpu"] | None = None
) -> MemoryReport:
    """Measures the memory of a module's buffers. `module` is a serialized module, HLO or StableHLO
    text, a function that JAX lowered or compiled, XLA's out-of-memory report, or a single shape or
    array.
    """
def diff(old: _Module, new: _Module, /) -> Difference:
    """Compares the layouts, the copies and the sizes of two modules."""
@overload
def relayout(  # type: ignore[overload-overlap]
    array: _Framework,
    to: Shape | _Layout,
    *,
    dtype: Any = None,
    tiles: Literal["tpu"] | None = None,
    table: _Array | None = None,
    table_dimension: int | None = None,
    source: str | Shape | None = None,
    out: None = None,
    device: _Device | None = None,
) -> _Framework:
    """Copies an array into another memory layout, and returns that memory."""
@overload
def relayout(
    array: _Array,
    to: Shape | _Layout,
    *,
    dtype: Any = None,
    tiles: Literal["tpu"] | None = None,
    table: _Array | None = None,
    table_dimension: int | None = None,
    source: str | Shape | None = None,
    out: None = None,
    device: _Device | None = None,
) -> _NumpyArray: ...
@overload
def relayout(
    array: _Array,
    to: Shape | _Layout,
    *,
    dtype: Any = None,
    tiles: Literal["tpu"] | None = None,
    table: _Array | None = None,
    table_dimension: int | None = None,
    source: str | Shape | None = None,
    out: _Out,
    device: _Device | None = None,
) -> _Out: ...
@overload
def slice(  # type: ignore[overload-overlap]
    array: _Framework,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    to: Shape | _Layout | None = None,
    source: str | Shape | None = None,
    out: None = None,
    device: _Device | None = None,
) -> _Framework:
    """Copies a window of an array in steps, as DirectML's SLICE1 does. A negative stride starts at
    the end of the window.
    """
@overload
def slice(
    array: _Array,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    to: Shape | _Layout | None = None,
    source: str | Shape | None = None,
    out: None = None,
    device: _Device | None = None,
) -> _NumpyArray: ...
@overload
def slice(
    array: _Array,
    offsets: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    to: Shape | _Layout | None = None,
    source: str | Shape | None = None,
    out: _Out,
    device: _Device | None = None,
) -> _Out: ...
def compile(source: str | Shape, to: Shape | _Layout, *, target: str | Target | None = None) -> Kernel:
    """Compiles a relayout to a kernel. No device is needed."""
def adapters() -> tuple[_Adapter, ...]:
    """Returns the adapters of this machine that can run kernels, as dictionaries with `name`,
    `backend`, `driver`, `is_cpu` and `target`. Hardware comes before software. `device="gpu"` runs
    on the first adapter whose name contains the environment variable `WGPU_ADAPTER_NAME`, if that
    is set, and `device="gpu:NAME"` on the first whose name contains NAME.
    """
def main(arguments: Sequence[str] | None = None, /) -> int:
    """Runs the command line `stridec` with the given arguments, and returns its exit code. Without
    arguments to this function, it takes the process's.
    """

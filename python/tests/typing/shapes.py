"""Arithmetic of shapes."""

import math
import pickle

import stridec

shape = stridec.Shape("bf16[16,256]{1,0:T(8,128)(2,1)}")
offset: int = shape.offset((3, 5))
index: tuple[int, ...] | None = shape.index(offset)
waste: float = shape.padding / shape.nbytes
extents: list[int] = [extent for extent in shape.dimensions if extent is not None]
cells = shape.memory_dimensions
order = shape.minor_to_major
assert index == (3, 5) and waste == 0 and math.prod(extents) == shape.size
assert cells is not None and math.prod(cells) * 2 == shape.nbytes and order is not None and order[0] == 1
names: dict[stridec.Shape, str] = {shape: str(shape), stridec.Shape([2, 3], dtype="f32", layout=[0, 1]): "turned"}
tiled = stridec.Shape(extents, dtype="bf16", tiles="tpu")
assert tiled == shape
copy: stridec.Shape = pickle.loads(pickle.dumps(shape))
assert names[copy] == str(shape) and shape.draw(columns=100)

try:
    stridec.Shape("f32[2,3]{1,1}")
except stridec.InvalidInput as error:
    field: str | None = error.field
    assert field is not None and field.startswith("layout")

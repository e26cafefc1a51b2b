"""Copies of numpy's arrays, into new memory and into given memory."""

import numpy as np
import stridec


def blocks(x: np.ndarray) -> np.ndarray:
    return np.asarray(stridec.relayout(x, to="{1,0:T(8,128)}", dtype=np.float16))


x = np.arange(6, dtype=np.int32).reshape(2, 3)
out = np.empty((3, 2), np.int32)
made: np.ndarray = stridec.relayout(x, (0, 1), out=out)
window = np.asarray(stridec.slice(x, (0, 0), (2, 3), (-1, 2), to="F"))
memory = stridec.relayout(b"abcdef", to="C", source=stridec.Shape("u8[2,3]{0,1}"))
table = np.arange(256, dtype=np.float32)
pixels = stridec.relayout(x.astype(np.uint8), to="C", table=table)
assert blocks(x).shape == (1, 1, 8, 128) and made is out and window.shape == (2, 2)
assert memory.tolist() == [[97, 99, 101], [98, 100, 102]] and pixels[1, 2] == 5

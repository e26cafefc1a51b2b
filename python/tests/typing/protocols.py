"""Classes of a user's own: arrays by a protocol, and a protocol that stridec's classes have."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import stridec


class Picture(Protocol):
    def draw(self, columns: int = 80) -> str: ...
    def save(self, path: str | Path, /) -> None: ...


class Frame:
    """An image that is an array by numpy's interface."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels = pixels

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.pixels.__array_interface__


class Tagged(np.ndarray):
    """A subclass of numpy's array."""


def saved(pictures: list[Picture], folder: Path) -> list[Path]:
    paths = [folder / f"{number}.svg" for number in range(len(pictures))]
    for picture, path in zip(pictures, paths):
        picture.save(path)
    return paths


frame = Frame(np.zeros((4, 6, 3), np.uint8))
planes = stridec.relayout(frame, to=(1, 0, 2))
tagged = stridec.relayout(np.zeros((2, 3), np.int8).view(Tagged), to="F")
shape = stridec.Shape(frame)
plan = stridec.reshard(shape, "{devices=[2,1,1]<=[2]}", "{replicated}")
with TemporaryDirectory() as name:
    paths = saved([shape, stridec.Operation.relayout(shape, "C"), plan], Path(name))
    assert all(path.stat().st_size for path in paths)
assert planes.shape == (3, 4, 6) and tagged.shape == (3, 2)

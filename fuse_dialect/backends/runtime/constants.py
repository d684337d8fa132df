"""The constants of a function: each kept once, as a dense array or as a kernel wants it packed."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fuse_dialect.backends.backend import Packing
from fuse_dialect.backends.runtime.arrays import is_dense
from fuse_dialect.backends.runtime.team import processors
from fuse_dialect.budget import MOST_VALUE_BYTES, SIZE_HINT, spelled
from fuse_dialect.diagnostics import FuseError
from fuse_dialect.dialect.mapped_file import release
from fuse_dialect.dialect.op import Array
from fuse_dialect.dialect.types import shape_text
from fuse_dialect.loops.packing import Packing as Panels

_MOST_THREADS = 4
_COPIED_BYTES = 1 << 23
_WORTH_THREADS = 1 << 22
"""Bytes of constants from which threads pack them."""


class Constants:
    """Elements by tensor; what only packed forms were read of can be dropped."""

    def __init__(self, elements: dict[int, Array], most_bytes: int = MOST_VALUE_BYTES):
        """Take over a dictionary: what is dropped here is dropped from it.

        Args:
            elements: By tensor.
            most_bytes: Of a constant that repeats few elements, when they are written out.
        """
        self._elements = elements
        self._most_bytes = most_bytes
        self._dense: dict[int, Array] = {}
        self._packed: dict[tuple[int, Packing], Array] = {}
        self._kept_in: dict[int, Panels] = {}
        """By tensor whose elements are gone the packed form that has them all."""
        self._wanted: set[int] = set()
        self._left: dict[int, int] = {}
        """How many forms of a tensor are still to be made."""

    def elements(self, tensor: int) -> Array:
        """The elements for NumPy, maybe one that is broadcast; read-only."""
        return self._elements[tensor]

    def want(self, tensor: int) -> None:
        """Keep the elements for `elements`."""
        self._wanted.add(tensor)

    def expect(self, forms: Mapping[int, set[Packing | None]]) -> None:
        """Say which forms are asked for, `None` being the dense one: elements go when the last has been made.

        Calls of `want` come first.
        """
        self._left = {tensor: len(each) for tensor, each in forms.items() if tensor not in self._wanted}

    def _made(self, tensor: int) -> None:
        self._left[tensor] = self._left.get(tensor, 0) - 1
        # Weights would be twice in memory otherwise: as the model has them and as kernels read them.
        if self._left[tensor] == 0 and self._is_kept(tensor):
            del self._elements[tensor]

    def _is_kept(self, tensor: int) -> bool:
        """Whether a form has all elements, so that they can be had again for saving; notes which."""
        if tensor in self._dense:
            return True
        array = self._elements[tensor]
        for other, packing in list(self._packed):  # other threads may be packing other tensors
            if other == tensor and isinstance(packing, Panels) and packing.can_undo(array.size, array.itemsize):
                self._kept_in[tensor] = packing
                return True
        return False

    def check(self, tensor: int) -> None:
        """Refuse to write out a constant that is small only because it repeats its elements.

        Raises:
            FuseError: It would take more bytes than a value may.
        """
        array = self._elements[tensor]
        if array.nbytes > self._most_bytes and not is_dense(array):
            raise FuseError(
                f"a constant of shape {shape_text(array.shape)} takes {spelled(array.nbytes)} bytes when it is written "
                f"out, more than the {self._most_bytes} that one value may take",
                hint=SIZE_HINT,
            )

    def dense(self, tensor: int) -> Array:
        """The elements row by row; read-only.

        Raises:
            FuseError: They would take more bytes than a value may.
        """
        if tensor not in self._dense:
            self.check(tensor)
            # What is dense already is not copied: it may be a view of a mapped file.
            array = self._elements[tensor]
            dense = array if is_dense(array) else _copied(array)
            dense.flags.writeable = False
            self._dense[tensor] = dense
            self._made(tensor)
        return self._dense[tensor]

    def packed(self, tensor: int, packing: Packing) -> Array:
        """The elements as a kernel reads them.

        Raises:
            FuseError: They would take more bytes than a value may.
        """
        key = (tensor, packing)
        if key not in self._packed:
            self.check(tensor)
            self._packed[key] = np.ascontiguousarray(_packed(self._elements[tensor], packing))
            self._made(tensor)
        return self._packed[key]

    def forms(self) -> Iterator[tuple[int, Packing | None, Array]]:
        """Each array that kernels read, with the constant and the form that it is; `None` for row by row."""
        yield from ((tensor, None, array) for tensor, array in self._dense.items())
        yield from ((tensor, packing, array) for (tensor, packing), array in self._packed.items())

    def whole(self, tensor: int) -> tuple[Panels | None, Array] | None:
        """An array that has all elements of a constant, and how they are laid out in it; `None` if there is none."""
        if tensor in self._elements:
            return None, self._elements[tensor]
        if tensor in self._dense:
            return None, self._dense[tensor]
        packing = self._kept_in.get(tensor)
        return None if packing is None else (packing, self._packed[(tensor, packing)])

    def pack(self, forms: Mapping[int, set[Packing | None]]) -> None:
        """Make the packed ones of these forms, several tensors at a time: most of it is the system making memory.

        Raises:
            FuseError: As for `packed`.
        """
        wanted = {tensor: [form for form in each if form is not None] for tensor, each in forms.items()}
        tensors = [tensor for tensor, each in wanted.items() if each]
        threads = min(len(tensors), processors(), _MOST_THREADS)
        if threads < 2 or sum(self._elements[tensor].nbytes for tensor in tensors) < _WORTH_THREADS:
            return  # whoever asks for a form makes it

        def make(tensor: int) -> None:
            for form in wanted[tensor]:
                self.packed(tensor, form)

        with ThreadPoolExecutor(threads, "fuse-pack") as pool:
            list(pool.map(make, tensors))

    def seal(self) -> None:
        """Drop what nobody wants: nothing new will be asked for."""
        for tensor in [tensor for tensor in self._elements if tensor not in self._wanted]:
            if self._is_kept(tensor):
                del self._elements[tensor]

    @property
    def bytes(self) -> int:
        """Bytes of all that is kept."""
        # One array may stand in two tables; its bytes count once.
        kept = [*self._dense.values(), *self._packed.values(), *self._elements.values()]
        return sum({id(array): _bytes(array) for array in kept}.values())


def _copied(array: Array) -> Array:
    """A dense copy. Of a mapped file, where it need not be aligned, a few MB at a time are in memory."""
    if not array.flags.c_contiguous:
        return np.array(array, order="C", copy=True)
    copy = np.empty(array.shape, array.dtype)
    source, target = array.reshape(-1), copy.reshape(-1)
    step = max(1, _COPIED_BYTES // array.itemsize)
    for first in range(0, array.size, step):
        part = source[first : first + step]
        target[first : first + step] = part
        release(part)
    return copy


def _packed(array: Array, packing: Packing) -> Array:
    """The elements in panels. Of a mapped file some tens of MB at a time are in memory, besides what kernels read."""

    def let_go() -> None:
        release(array)

    packed = packing.apply(array, let_go) if isinstance(packing, Panels) else packing.apply(array)
    let_go()
    return packed


def _bytes(array: Array) -> int:
    """Bytes that the array takes; one that repeats a single element takes that element's."""
    return array.nbytes if is_dense(array) else array.itemsize

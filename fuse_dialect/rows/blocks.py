"""A program over a block of rows, whatever batch it was compiled for.

1. Axis 0 of each input and of each output is that of the rows, and rows do not depend on each other: what a program
   computes of a row is the same whichever rows are beside it. Nobody can check that.
2. A program of a known batch runs on pieces of it. The last one is filled up with its last row, whose results are
   dropped: any other filling might be no valid input.
3. A program of open batch runs on blocks as they are; it is compiled for the size that most of them have.
4. Whole pieces of one block differ in their addresses alone, so their arrays are looked at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from fuse_dialect.backends.runtime.arrays import address_of, is_dense, shares_memory
from fuse_dialect.diagnostics import FuseError

if TYPE_CHECKING:
    from fuse_dialect.backends.runtime.program import InputForm, Program
    from fuse_dialect.dialect.op import Array

DEFAULT_BATCH = 256
"""Rows of a piece for programs of open batch."""


@dataclass(frozen=True, slots=True)
class Column:
    """What rows of an input or an output are."""

    name: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    """Without the rows; -1 for a size that is open."""

    def __str__(self) -> str:
        sizes = "x".join("?" if size < 0 else str(size) for size in self.shape)
        return f"{self.dtype.name} of {sizes}" if sizes else self.dtype.name


class RowProgram:
    """A program, as something that takes any number of rows."""

    def __init__(self, program: "Program", batch: int | None = None):
        """Look whether the program has rows.

        Args:
            program: The program.
            batch: Rows of a piece; a program of a known batch has its own.

        Raises:
            FuseError: An input or an output has no rows, or batches differ.
        """
        interface = program.interface
        sizes = {type.shape[0] if type.shape else None for type in (form.type for form in interface.inputs)}
        known = {size for size in sizes if size is not None and size >= 0}
        if not sizes or None in sizes or len(known) > 1 or 0 in known:
            raise FuseError(
                f"'{program.name}' does not map rows: its inputs need one size of their first axes, and have "
                + ", ".join(str(form.type.shape) for form in interface.inputs),
                hint="the first axis of each input and output is that of the rows",
            )
        (self.fixed,) = known or {None}
        """Rows that the program is compiled for; `None` for any number."""
        for name, type in zip(interface.output_names, interface.outputs, strict=True):
            if not type.shape or (type.shape[0] >= 0 and type.shape[0] != self.fixed):
                raise FuseError(f"'{program.name}' does not map rows: output '{name}' has the shape {type.shape}")
        if batch is not None and (isinstance(batch, bool) or batch < 1):
            raise FuseError(f"expected a batch of 1 or more rows, got {batch!r}")
        self.program = program
        self.batch = self.fixed or batch or DEFAULT_BATCH
        """Rows of a call."""
        self.inputs = [Column(_name(form), form.type.dtype, form.type.shape[1:]) for form in interface.inputs]
        self.outputs = [
            Column(name, type.dtype, type.shape[1:])
            for name, type in zip(interface.output_names, interface.outputs, strict=True)
        ]
        self._special: Program | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowProgram, (self.program, self.batch)

    def checked(self, arrays: "Sequence[Array]", where: str) -> int:
        """The rows of a block.

        Args:
            arrays: One for each input.
            where: The block, for errors.

        Raises:
            FuseError: A column has another type, shape or number of rows.
        """
        if len(arrays) != len(self.inputs):
            names = ", ".join(column.name for column in self.inputs)
            raise FuseError(f"{where}: the program takes {len(self.inputs)} columns ({names}), got {len(arrays)}")
        for column, array in zip(self.inputs, arrays, strict=True):
            fits = array.ndim == len(column.shape) + 1 and all(
                size < 0 or size == other for size, other in zip(column.shape, array.shape[1:], strict=True)
            )
            if not fits or array.dtype != column.dtype:
                rows = "x".join(map(str, array.shape[1:]))
                got = f"{array.dtype.name} of {rows}" if rows else array.dtype.name
                raise FuseError(f"{where}: column '{column.name}' expects rows of {column}, got {got}")
            if len(array) != len(arrays[0]):
                first = self.inputs[0].name
                raise FuseError(
                    f"{where}: column '{column.name}' has {len(array)} rows, and '{first}' has {len(arrays[0])}"
                )
        return len(arrays[0])

    @property
    def row_bytes(self) -> int:
        """Bytes of a row and its results; sizes that are open count as one."""
        columns = [*self.inputs, *self.outputs]
        return max(1, sum(each.dtype.itemsize * prod(max(size, 1) for size in each.shape) for each in columns))

    def run(
        self, arrays: "Sequence[Array]", where: str = "the block", targets: "Sequence[Array] | None" = None
    ) -> "list[Array]":
        """The results of a block of rows.

        Args:
            arrays: One for each input.
            where: The block, for errors.
            targets: Arrays that the results are written to; by default new ones.

        Raises:
            FuseError: As for `checked`; or the program rejects the values.
        """
        count = self.checked(arrays, where)
        arrays = [np.ascontiguousarray(array) for array in arrays]
        try:
            return self._run(arrays, count, targets)
        except FuseError as error:
            raise FuseError(f"{where}: {error.message}", error.location, error.notes, error.hint) from error

    def _run(self, arrays: "Sequence[Array]", count: int, targets: "Sequence[Array] | None") -> "list[Array]":
        results: list[Array] | None = None if targets is None else list(targets)
        if results is None and all(size >= 0 for column in self.outputs for size in column.shape):
            results = [np.empty((count, *column.shape), column.dtype) for column in self.outputs]
        parts: list[tuple[Array, ...]] = []
        done = 0 if results is None else self._run_pieces(arrays, results, count)
        for first in range(done, count, self.batch):
            last = min(first + self.batch, count)
            piece = [array[first:last] for array in arrays]
            if results is not None and last - first == self.batch:
                # Kernels write where the results are wanted.
                self._program_for(piece).run_into(piece, [result[first:last] for result in results])
                continue
            found = self._call(piece, last - first)
            if results is None:
                parts.append(found)
            else:
                for result, part in zip(results, found, strict=True):
                    result[first:last] = part
        if results is not None:
            return results
        if not parts:
            return [np.empty((0, *(max(size, 0) for size in column.shape)), column.dtype) for column in self.outputs]
        return [np.concatenate(each) for each in zip(*parts, strict=True)]

    def _run_pieces(self, arrays: "Sequence[Array]", results: "Sequence[Array]", count: int) -> int:
        """Run whole pieces of a block where addresses are enough: condition 4.

        Returns:
            How many rows are done; the others run one piece after the other.
        """
        whole = count // self.batch * self.batch
        touched = [*arrays, *results]
        if not whole or not all(map(is_dense, touched)):
            return 0
        for column, result in zip(self.outputs, results, strict=True):
            fits = result.shape == (count, *column.shape) and result.dtype == column.dtype
            if not fits or not result.flags.writeable:
                return 0
        if any(shares_memory(each, touched[: len(arrays) + place]) for place, each in enumerate(results)):
            return 0
        call = self._program_for([array[: self.batch] for array in arrays]).into_addresses()
        if call is None:
            return 0
        steps = [array.nbytes // count * self.batch for array in touched]
        places = [address_of(array) for array in touched]
        inputs = len(arrays)
        for first in range(0, whole, self.batch):
            if not call(places[:inputs], places[inputs:]):
                return first
            places = [place + step for place, step in zip(places, steps, strict=True)]
        return whole

    def _call(self, piece: "Sequence[Array]", count: int) -> "tuple[Array, ...]":
        if self.fixed is None or count == self.fixed:
            return self._program_for(piece)(*piece)
        # Condition 2.
        filled = [np.concatenate([array, np.repeat(array[-1:], self.fixed - count, axis=0)]) for array in piece]
        return tuple(result[:count] for result in self.program(*filled))

    def _program_for(self, piece: "Sequence[Array]") -> "Program":
        """The program for a piece; condition 3."""
        if self.fixed is not None or len(piece[0]) != self.batch:
            return self.program
        if self._special is None:
            self._special = self.program.specialize(*piece)
        shapes = [array.shape for array in piece]
        known = [form.type.shape for form in self._special.interface.inputs]
        return self._special if shapes == known else self.program

    def describe(self) -> Mapping[str, Any]:
        """What a run is known by beside its data."""
        return {
            "program": digest_of_program(self.program),
            "batch": self.batch,
            "outputs": [[column.name, column.dtype.str, list(column.shape)] for column in self.outputs],
        }


def digest_of_program(program: "Program") -> str:
    """A hash of what a program is, the same in each process."""
    if program.origin is not None:
        return program.origin[1]
    from hashlib import sha256

    return sha256(program.to_bytes()).hexdigest()


def _name(form: "InputForm") -> str:
    return form.model_name or form.name

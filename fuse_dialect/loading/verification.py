"""Verifying a module, in time linear in its size: what its ops say, and that values are defined before they are used.

xDSL's verifier of `func.call` goes through all symbols of the module for each call, and a fused module has about as
many symbols as calls. Here the symbols are looked up in a table instead; all that is verified stays the same.

What is replaced of xDSL for that, all threads see. One thread verifies at a time, and others that change IR meanwhile
get what xDSL has: what is remembered holds for a module that stays as it is.
"""

import sys
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import get_ident
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region
from xdsl.ir.core import RegionBlocks
from xdsl.traits import SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.fusion.ir.symbol_tables import may_be_symbol_table
from fuse_dialect.process_wide import EXCLUSIVE


def verify_module(module: ModuleOp) -> None:
    """Verify the module.

    Raises:
        VerifyException: The module is invalid.
    """
    # Imported here: `--help` and its like need no dialect, and start in half the time.
    from fuse_dialect.loading.definitions import definitions_checked_once
    from fuse_dialect.loading.dominance import verify_dominance

    with EXCLUSIVE, indexed_symbols(), counted_blocks(), _fuse_ops_once(), definitions_checked_once():
        try:
            module.verify()
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            _verify_functions(module)
            _blame_op(error)
            raise
    verify_dominance(module)


def _fuse_ops_once() -> AbstractContextManager[None]:
    """What lets `fuse` ops verify themselves once; there are none unless somebody has imported them, with NumPy."""
    ops = sys.modules.get("fuse_dialect.dialect.op")
    return cast("AbstractContextManager[None]", getattr(ops, "verified_once", nullcontext)())


def _blame_op(error: Exception) -> None:
    """Say which op is invalid if it is xDSL's verifier that an op takes by surprise; other errors are bugs here.

    Raises:
        OpError: See above.
    """
    from fuse_dialect.dialect.errors import OpError
    from fuse_dialect.loading.failure import failing_operation

    op = failing_operation(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if (
        op is not None
        and trace is not None
        and trace.tb_frame.f_globals.get("__name__", "").startswith("xdsl.dialects.")
    ):
        raise OpError(op, f"'{op.name}' op is not valid ({type(error).__name__} in its verifier: {error})") from error


def _verify_functions(module: ModuleOp) -> None:
    """Verify each function apart from what is in it.

    xDSL verifies the ops of a region before the op around it, and its `func.return` and `func.call` look for the type
    of a function that may have none.
    """
    for op in module.walk():
        if isinstance(op, FuncOp):
            op.verify(verify_nested_ops=False)


@contextmanager
def counted_blocks() -> Generator[None]:
    """Make xDSL count the blocks of each region once; no block may be added or removed in the meantime.

    Its verifier asks for the number at the end of every block, and walks over the blocks to find it.
    """
    count, verifier = RegionBlocks.__len__, get_ident()
    known: dict[Region, int] = {}

    def remembered(self: RegionBlocks) -> int:
        if get_ident() != verifier:
            return count(self)
        region = self._region  # pyright: ignore[reportPrivateUsage]
        number = known.get(region)
        if number is None:
            number = known[region] = count(self)
        return number

    RegionBlocks.__len__ = remembered
    try:
        yield
    finally:
        RegionBlocks.__len__ = count


@contextmanager
def indexed_symbols() -> Generator[None]:
    """Make xDSL look up symbols in tables; no symbol may be added, renamed or removed in the meantime.

    xDSL has only a global place for that, its `SymbolTable.lookup_symbol`. The tables are filled when they are needed.
    """
    search, verifier = SymbolTable.lookup_symbol, get_ident()
    tables: dict[Operation, Mapping[str, Operation] | None] = {}

    def lookup_symbol(op: Operation, name: str | StringAttr | SymbolRefAttr) -> Operation | None:
        if get_ident() != verifier:
            return search(op, name)
        holder: Operation | None = op
        while holder is not None and not may_be_symbol_table(holder):
            holder = holder.parent_op()
        if holder is None or (isinstance(name, SymbolRefAttr) and name.nested_references):
            return search(op, name)
        if holder not in tables:
            tables[holder] = _symbols_of(holder)
        table = tables[holder]
        if table is None:
            return search(op, name)
        if isinstance(name, SymbolRefAttr):
            name = name.root_reference
        return table.get(name.data if isinstance(name, StringAttr) else name)

    SymbolTable.lookup_symbol = lookup_symbol
    try:
        yield
    finally:
        SymbolTable.lookup_symbol = search


def _symbols_of(holder: Operation) -> Mapping[str, Operation] | None:
    """The symbols directly inside an op, the first of each name; `None` if one of them is malformed."""
    table: dict[str, Operation] = {}
    for op in holder.regions[0].block.ops:
        interface = op.get_trait(SymbolOpInterface)
        if interface is not None:
            try:
                name = interface.get_sym_attr_name(op)
            except VerifyException:
                return None
            if name is not None:
                table.setdefault(name.data, op)
    return table

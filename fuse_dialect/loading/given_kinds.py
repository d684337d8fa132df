"""Files of kinds that a user names beside a module."""

from collections.abc import Iterator, Sequence
from os import PathLike

from xdsl.dialects.builtin import ModuleOp

from fuse_dialect.diagnostics import Diagnostic, Severity
from fuse_dialect.frontends.mlir.source_map import SourceMap
from fuse_dialect.fusion.kinds.kind_rows import KindTable
from fuse_dialect.fusion.kinds.kinds_file import read_kinds
from fuse_dialect.fusion.kinds.stamping import stamp_kinds
from fuse_dialect.loading.failure import located_errors


class GivenKinds:
    """The rows of some files, and the names of the ops that they were held against."""

    def __init__(self, paths: "str | PathLike[str] | Sequence[str | PathLike[str]]"):
        """Read the files.

        Raises:
            FuseError: One cannot be read or is wrong, or two give one name different kinds.
        """
        self.table: KindTable = read_kinds(paths)
        self._names: dict[str, None] = {}

    def stamp(self, module: ModuleOp, source_map: SourceMap) -> None:
        """Write the kinds on the ops of a module.

        Raises:
            FuseError: An op has fewer operands than its row has edges.
        """
        with located_errors(source_map, " while kinds are written on ops"):
            self._names.update(dict.fromkeys(stamp_kinds(module, self.table)))

    def warnings(self) -> Iterator[Diagnostic]:
        """One for each row that is for no op of the modules so far, in the order of the files."""
        for row in self.table.without_ops(self._names):
            yield Diagnostic(Severity.WARNING, f"no op with a result has the name '{row.name}'", row.place)

"""How an op says its pattern kind: a trait on the class, or an attribute on one op.

`OpPatternKind` is the trait that every `fuse` op carries. `#fuse.pattern_kind<injective>`, under the name
`fuse.pattern_kind`, says the same of a single op of any dialect, and also asserts that this op is pure.
"""

from dataclasses import dataclass
from typing import Self

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from fuse_dialect.pattern_kind import PatternKind

PATTERN_KIND_ATTRIBUTE = "fuse.pattern_kind"
"""Name of the discardable attribute that gives one op its pattern kind."""


@dataclass(frozen=True)
class OpPatternKind(OpTrait):
    """The pattern kind of every instance of an op class."""

    kind: PatternKind

    def verify(self, op: Operation) -> None:
        """Reject a class that inherits one kind and declares another: which one counts would be left to chance."""
        if len(op.get_traits_of_type(OpPatternKind)) > 1:
            raise VerifyException(f"'{op.name}' op declares more than one pattern kind")


@irdl_attr_definition
class PatternKindAttr(ParametrizedAttribute):
    """A pattern kind in the IR: `#fuse.pattern_kind<out_ewise_fusable>`."""

    name = "fuse.pattern_kind"

    keyword: StringAttr = param_def()

    @property
    def kind(self) -> PatternKind:
        """The kind that the attribute names."""
        return PatternKind.from_keyword(self.keyword.data)

    @classmethod
    def of(cls, kind: PatternKind) -> Self:
        """The attribute that names `kind`."""
        return cls(StringAttr(kind.keyword))

    def verify(self) -> None:
        """Reject a keyword that names no kind."""
        try:
            PatternKind.from_keyword(self.keyword.data)
        except ValueError as error:
            raise VerifyException(str(error)) from error

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr]:
        """Parse `<keyword>`."""
        with parser.in_angle_brackets():
            start = parser.pos
            keyword = parser.parse_identifier(" for a pattern kind")
            try:
                PatternKind.from_keyword(keyword)
            except ValueError as error:
                parser.raise_error(str(error), start, parser.pos)
            return [StringAttr(keyword)]

    def print_parameters(self, printer: Printer) -> None:
        """Print `<keyword>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.keyword.data)

"""Attributes that are one word: `#linalg.type_fn<cast_unsigned>`, `#tosa.nan_mode<IGNORE>`."""

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class KeywordAttr(Data[str]):
    """An attribute that is one word in angle brackets."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Parse the word."""
        with parser.in_angle_brackets():
            return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        """Print the word."""
        printer.print_string(f"<{self.data}>")

"""A lexer of MLIR that matches one regular expression per token.

It gives the tokens of xDSL's lexer, in about half the time, and hands everything unusual to it: errors, escapes in
strings, hexadecimal numbers, and what is not ASCII. Differs from xDSL 0.74 in two ways:

1. An unterminated string is an error after linear time, where xDSL's pattern backtracks exponentially (40 characters
   take minutes).
2. A string whose escapes spell UTF-8 is text, as what xDSL prints for text; bytes are only what is no UTF-8.
"""

import re

from xdsl.utils.lexer import Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_SUFFIX = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"

_TOKEN = re.compile(
    r"(?:[ \t\r\n\f\v]|//[^\n]*)*+"
    r"(?:"
    rf"(%{_SUFFIX})"
    r"|([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(->|[:,()}\[\]<>=+*?|]|/(?!/)|-|\{(?!-#))"
    r"|([0-9]++(?![.x]))"
    r"|([0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?)"
    rf"|(#(?!-\}}){_SUFFIX})"
    rf"|(!{_SUFFIX})"
    rf"|(\^{_SUFFIX})"
    r'|("[^"\\\n\v\f]*")'
    r"|(@[a-zA-Z_][a-zA-Z0-9_$.]*)"
    r")"
)
"""White space and comments, then one token; the number of the group is the index into `_KINDS`."""

_KINDS = (
    None,
    MLIRTokenKind.PERCENT_IDENT,
    MLIRTokenKind.BARE_IDENT,
    None,
    MLIRTokenKind.INTEGER_LIT,
    MLIRTokenKind.FLOAT_LIT,
    MLIRTokenKind.HASH_IDENT,
    MLIRTokenKind.EXCLAMATION_IDENT,
    MLIRTokenKind.CARET_IDENT,
    MLIRTokenKind.STRING_LIT,
    MLIRTokenKind.AT_IDENT,
)


class FuseLexer(MLIRLexer):
    """xDSL's lexer, faster and safe against unterminated strings."""

    # The quantifiers are possessive: no character is ever looked at twice.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')
    _whitespace_regex = re.compile(r"(?:[ \t\r\n\f\v]|//[^\n]*)*+")

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        # xDSL's takes every literal with an escape above 7F for bytes, although it prints text in that way.
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT and _is_utf8(StringLiteral.from_span(token.span).bytes_contents):
            return Token(MLIRTokenKind.STRING_LIT, token.span)
        return token

    def lex(self) -> MLIRToken:
        """The next token; at the end of the input always `EOF`."""
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex or 0
        start, end = match.span(group)
        kind = _KINDS[group] or KIND_BY_PUNCTUATION_SPELLING[match[group]]
        self.pos = end
        return Token(kind, Span(start, end, self.input))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

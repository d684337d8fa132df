"""Rules that change one place of a function: what they find on the syntax tree, and the text that stands there then.

A rule maps a node to pairs of a node to replace, the same or one inside, and its new text; the rest of the file stays
byte for byte. Places are counted for each function and rule, in the order of the source, so that a mutant is named
by a function, a rule and a number: `Budget.take`, `false`, 2. What stands outside of functions belongs to its class
or to `<module>`. Types, patterns, signatures and texts with fields stay as they are.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise, product

Change = tuple[ast.AST, str]

_OPPOSITES: Mapping[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_SHIFTED: Mapping[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: ">="}
_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.Div: "*",
    ast.Mod: "//",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
}
_NAMES = {"max": "min", "min": "max", "any": "all", "all": "any", "issubset": "isdisjoint"}
_WORDS = {
    "and": "or",
    "or": "and",
    "olt": "ole",
    "ole": "olt",
    "ogt": "olt",
    "oeq": "une",
    "uno": "ord",
    "ult": "slt",
    "slt": "ult",
    "eq": "ne",
    "ne": "eq",
    "lshr": "ashr",
    "ashr": "lshr",
    "smax": "smin",
    "smin": "smax",
    "fptoui.sat": "fptosi.sat",
    "<d": "<f",
    "Min": "Max",
    "And": "Or",
}
"""Operations of LLVM and ONNX and codes of `struct`, which stand in strings."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CONDITIONS = (ast.If, ast.While, ast.IfExp)


def _negate(node: ast.AST) -> Iterator[Change]:
    """Compare the other way round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield node, _compared(node, _OPPOSITES[type(node.ops[0])])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, ast.unparse(node.operand)


def _bound(node: ast.AST) -> Iterator[Change]:
    """Let a bound belong to a range, or not."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            if type(op) in _SHIFTED:
                yield node, _compared(node, _SHIFTED[type(op)], place)


def _compared(node: ast.Compare, sign: str, at: int = 0) -> str:
    parts = [f"({ast.unparse(node.left)})"]
    for place, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
        own = ast.unparse(ast.Compare(ast.Name("a"), [op], [ast.Name("b")]))[2:-2]
        parts.append(f"{sign if place == at else own} ({ast.unparse(right)})")
    return " ".join(parts)


def _drop_term(node: ast.AST) -> Iterator[Change]:
    """Forget one condition of `and` or `or`."""
    if isinstance(node, ast.BoolOp):
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            yield node, word.join(f"({ast.unparse(each)})" for each in node.values if each is not dropped)


def _and_or(node: ast.AST) -> Iterator[Change]:
    """`and` for `or`."""
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield node, word.join(f"({ast.unparse(each)})" for each in node.values)


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, _CONDITIONS):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp | ast.Compare):
        yield node.value
    elif isinstance(node, ast.match_case) and node.guard is not None:
        yield node.guard


def _true(node: ast.AST) -> Iterator[Change]:
    """A condition that always holds."""
    for condition in _conditions(node):
        yield condition, "True"


def _false(node: ast.AST) -> Iterator[Change]:
    """A condition that never holds."""
    if not isinstance(node, ast.While):
        for condition in _conditions(node):
            yield condition, "False"


def _drop(node: ast.AST) -> Iterator[Change]:
    """Forget a statement, but none that a name may come from."""
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Continue() | ast.Break() | ast.Raise():
            yield node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield node, "pass"
        case ast.Assign(targets=[ast.Name(id=name)]) if f"'{name}'" in ast.dump(node.value):
            yield node, "pass"
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Attribute() | ast.Subscript(), *_])]):
            yield node, "pass"
        case _:
            return


def _return_early(node: ast.AST) -> Iterator[Change]:
    """Leave a function before one of its branches or loops."""
    if isinstance(node, ast.For | ast.While):
        yield node, "return None"
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield node.value, "None"


def _operator(node: ast.AST) -> Iterator[Change]:
    """Another arithmetic operation."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield node, f"({ast.unparse(node.left)}) {_OPERATORS[type(node.op)]} ({ast.unparse(node.right)})"


def _operand(node: ast.AST) -> Iterator[Change]:
    """One operand alone."""
    if isinstance(node, ast.BinOp):
        yield node, ast.unparse(node.left)
        yield node, ast.unparse(node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield node, ast.unparse(node.operand)


def _plus_one(node: ast.AST) -> Iterator[Change]:
    """A number that is greater by one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        yield node, str(node.value + 1)


def _minus_one(node: ast.AST) -> Iterator[Change]:
    """A number that is less by one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        yield node, str(node.value - 1)


def _other_truth(node: ast.AST) -> Iterator[Change]:
    """`True` for `False`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, str(not node.value)


def _other_name(node: ast.AST) -> Iterator[Change]:
    """`max` for `min`, `any` for `all`."""
    if isinstance(node, ast.Name) and node.id in _NAMES:
        yield node, _NAMES[node.id]


def _other_word(node: ast.AST) -> Iterator[Change]:
    """Another operation of a code generator."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in _WORDS:
        yield node, repr(_WORDS[node.value])


def _drop_line(node: ast.AST) -> Iterator[Change]:
    """Forget a line of a text that is a program."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n  " in node.value:
        lines = node.value.splitlines(keepends=True)
        for place in range(1, len(lines)):
            yield node, repr("".join(lines[:place] + lines[place + 1 :]))


def _swap(node: ast.AST) -> Iterator[Change]:
    """Exchange neighbours: arguments, elements, operands, the two sides of a choice."""
    match node:
        case ast.Call(func=ast.Name(id="min" | "max")):
            return  # the same in any order
        case ast.Call():
            for args in _exchanged(node.args):
                yield node, ast.unparse(ast.Call(node.func, args, node.keywords))
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()):
            for elements in _exchanged(node.elts):
                yield node, ast.unparse(type(node)(elements, ast.Load()))
        case ast.BinOp(op=ast.Sub() | ast.FloorDiv() | ast.Div() | ast.Mod()):
            yield node, ast.unparse(ast.BinOp(node.right, node.op, node.left))
        case ast.IfExp():
            yield node, ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
        case _:
            return


def _exchanged(nodes: list[ast.expr]) -> Iterator[list[ast.expr]]:
    for place, (one, other) in enumerate(pairwise(nodes)):
        if ast.dump(one) != ast.dump(other):
            yield [*nodes[:place], other, one, *nodes[place + 2 :]]


def _argument(node: ast.AST) -> Iterator[Change]:
    """What a function is given, or the object of a method, in place of its result."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node, ast.unparse(node.func.value)
        for each in node.args:
            yield node, ast.unparse(each.value if isinstance(each, ast.Starred) else each)


def _drop_argument(node: ast.AST) -> Iterator[Change]:
    """Leave an argument to its default, or out of several."""
    if isinstance(node, ast.Call):
        for place in range(len(node.args)):
            yield node, ast.unparse(ast.Call(node.func, node.args[:place] + node.args[place + 1 :], node.keywords))
        for place in range(len(node.keywords)):
            yield node, ast.unparse(ast.Call(node.func, node.args, node.keywords[:place] + node.keywords[place + 1 :]))


def _drop_element(node: ast.AST) -> Iterator[Change]:
    """Leave an element out."""
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        for place in range(len(node.elts)):
            yield node, ast.unparse(type(node)(node.elts[:place] + node.elts[place + 1 :], ast.Load()))
    elif isinstance(node, ast.Set) and len(node.elts) > 1:
        for place in range(len(node.elts)):
            yield node, ast.unparse(ast.Set(node.elts[:place] + node.elts[place + 1 :]))


def _branch(node: ast.AST) -> Iterator[Change]:
    """One side of a choice, whatever the condition is."""
    if isinstance(node, ast.IfExp):
        yield node, ast.unparse(node.body)
        yield node, ast.unparse(node.orelse)


def _whole(node: ast.AST) -> Iterator[Change]:
    """A sequence in place of a slice of it."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice):
        yield node, ast.unparse(node.value)


def _first(node: ast.AST) -> Iterator[Change]:
    """Nothing but the first pass of a loop."""
    if isinstance(node, ast.For):
        yield node.iter, f"list({ast.unparse(node.iter)})[:1]"


RULES: Mapping[str, Callable[[ast.AST], Iterator[Change]]] = {
    "negate": _negate,
    "bound": _bound,
    "drop-term": _drop_term,
    "and-or": _and_or,
    "true": _true,
    "false": _false,
    "drop": _drop,
    "return-early": _return_early,
    "operator": _operator,
    "operand": _operand,
    "plus-one": _plus_one,
    "minus-one": _minus_one,
    "other-truth": _other_truth,
    "other-name": _other_name,
    "other-word": _other_word,
    "drop-line": _drop_line,
    "swap": _swap,
    "argument": _argument,
    "drop-argument": _drop_argument,
    "drop-element": _drop_element,
    "branch": _branch,
    "whole": _whole,
    "first": _first,
}
WHOLE_MODULES = (
    "negate",
    "bound",
    "drop-term",
    "true",
    "false",
    "drop",
    "return-early",
    "operator",
    "swap",
    "other-name",
)
"""Rules for modules all of whose places are changed: the others make many mutants that mean the same."""


@dataclass(frozen=True, slots=True)
class Place:
    """A change of one place of a file."""

    function: str
    """Qualified name, or `<module>`."""
    rule: str
    number: int
    """Among the places of the function where the rule changes something."""
    line: int
    before: str
    after: str
    changed: str
    """The whole file."""


def places(source: str) -> Iterator[Place]:
    """Everything that the rules change in a file, in the order of the source for each function and rule."""
    whole = source.encode()
    starts = [0, *accumulate(len(line) for line in whole.splitlines(keepends=True))]
    for function, nodes in _functions(ast.parse(source)).items():
        count = dict.fromkeys(RULES, 0)
        for node, (rule, change) in product(nodes, RULES.items()):
            for target, text in change(node):
                assert isinstance(target, ast.expr | ast.stmt), "nothing else has a place in a file"
                start = starts[target.lineno - 1] + target.col_offset
                stop = starts[(target.end_lineno or 0) - 1] + (target.end_col_offset or 0)
                new = f"({text})" if isinstance(target, ast.expr) else text
                changed = (whole[:start] + new.encode() + whole[stop:]).decode()
                yield Place(function, rule, count[rule], target.lineno, whole[start:stop].decode(), text, changed)
                count[rule] += 1


def _functions(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """What stands in each function or class but not in an inner one, without types, patterns and texts with fields."""
    found: dict[str, list[ast.AST]] = {}
    waiting: list[tuple[ast.AST, str]] = [(node, "") for node in reversed(tree.body)]
    while waiting:
        node, name = waiting.pop()
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, _SCOPES):
            name = f"{name}.{node.name}" if name else node.name
            children = list[ast.AST](node.body)
        elif isinstance(node, ast.AnnAssign):
            children = [] if node.value is None else [node.value]
        elif isinstance(node, ast.JoinedStr | ast.pattern | ast.Import | ast.ImportFrom) or _is_docstring(node):
            continue
        else:
            found.setdefault(name or "<module>", []).append(node)
        waiting.extend((child, name) for child in reversed(children))
    return found


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

"""The paths from a node to its immediate post-dominator, drawn in text."""

from collections.abc import Callable, Sequence

from fuse_dialect.pattern_kind import PatternKind

MOST_LINES = 24
"""Lines of a drawing; what is beyond is counted."""

_Users = Sequence[Sequence[tuple[int, PatternKind]]]


def draw_paths(users: _Users, node: int, end: int | None, name: Callable[[int], str]) -> list[str]:
    r"""A tree of the ways from a node to `end`, or to its readers if there is no end.

    Only where ways part does the drawing move to the right. A node that several ways pass is drawn out once, and
    marked `...` after that.

    Args:
        users: For each node its users and the kinds of the edges.
        node: Where the ways begin.
        end: Where they meet; `None` if they do not: then its readers alone are drawn.
        name: What a node is called.

    Example:
        >>> elemwise = PatternKind.ELEMWISE
        >>> diamond = [[(2, elemwise), (1, elemwise)], [(3, elemwise)], [(3, elemwise)], []]
        >>> print(*draw_paths(diamond, 0, 3, "abcd".__getitem__), sep="\n")
        a
        ├─ elemwise ─> b
        │  elemwise ─> d (they meet here)
        └─ elemwise ─> c
           elemwise ─> d (they meet here)
    """
    lines = [name(node)]
    drawn: set[int] = set()
    left_out = 0
    pending = _branches(users[node], "")
    while pending:
        user, kind, mark, indent = pending.pop()
        if len(lines) > MOST_LINES:
            left_out += 1
            continue
        note = " (they meet here)" if user == end else " ..." if user in drawn and users[user] else ""
        lines.append(f"{mark}{kind.keyword} ─> {name(user)}{note}")
        if end is not None and user != end and user not in drawn:
            pending.extend(_branches(users[user], indent))
        drawn.add(user)
    if left_out:
        lines.append(f"... and {left_out} more ways on")
    return lines


def _branches(users: Sequence[tuple[int, PatternKind]], indent: str) -> list[tuple[int, PatternKind, str, str]]:
    """The users of a node, each once, with the greatest kind of their edges; the first one stands last, to be popped.

    Beside each what its line begins with, and the lines below it.
    """
    greatest: dict[int, PatternKind] = {}
    for user, kind in users:
        greatest[user] = max(kind, greatest.get(user, kind))
    if len(greatest) == 1:
        return [(user, kind, indent, indent) for user, kind in greatest.items()]
    ordered = sorted(greatest.items(), reverse=True)
    return [
        (user, kind, f"{indent}{'├' if place else '└'}─ ", f"{indent}{'│' if place else ' '}  ")
        for place, (user, kind) in enumerate(ordered)
    ]

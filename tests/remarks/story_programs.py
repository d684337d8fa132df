"""Random programs whose fusion is refused for many reasons."""

from hypothesis import strategies as st

_UNARY = ("exp", "relu", "softmax", "tanh")
_BINARY = ("add", "multiply")


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Programs of a few ops, some of them anchors, whose values are read by several."""
    type, values, lines = "tensor<4x4xf32>", ["%x"], list[str]()
    for number in range(draw(st.integers(2, 9))):
        if draw(st.booleans()):
            op = draw(st.sampled_from(_UNARY))
            rest = ", axis = 1" if op == "softmax" else ""
            lines.append(f"  %v{number} = fuse.{op} {draw(st.sampled_from(values))}{rest} : {type}")
        elif draw(st.integers(0, 3)):
            first, second = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            lines.append(f"  %v{number} = fuse.{draw(st.sampled_from(_BINARY))} {first}, {second} : {type}")
        else:
            lines.append(f'  %v{number} = "other.op"({draw(st.sampled_from(values))}) : ({type}) -> {type}')
        values.append(f"%v{number}")
    results = draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=2, unique=True))
    types = ", ".join([type] * len(results))
    head = f"func.func @main(%x: {type}) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {', '.join(results)} : {types}", "}"])

"""What a region does, as text that can be compared."""

from xdsl.ir import Block, SSAValue

from fuse_dialect.frontends.stablehlo.rules.building import known_number, word


def fingerprint(block: Block) -> str:
    """The ops of a region: arguments as `a0, a1`, values by number, constants as `=1.0`, wherever they stand."""
    names: dict[SSAValue, str] = {argument: f"a{index}" for index, argument in enumerate(block.args)}
    lines: list[str] = []
    for op in block.ops:
        if op.name in ("stablehlo.constant", "arith.constant"):
            continue
        words = [op.name.partition(".")[2]]
        if direction := word(op, "comparison_direction"):
            words.append(direction)
        if word(op, "compare_type") == "TOTALORDER":
            words.append("TOTALORDER")
        words += [names[each] if each in names else f"={known_number(each)}" for each in op.operands]
        names.update(dict.fromkeys(op.results, str(len(lines))))
        lines.append(" ".join(words))
    return ";".join(lines)

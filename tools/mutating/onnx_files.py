"""Mutants of what reads and writes ONNX: `frontends/onnx` and `targets/onnx`."""

from mutating.mutant import Mutant

_READ = "frontends/onnx/operators"
_WRITTEN = "targets/onnx"

ONNX_MUTANTS: tuple[Mutant, ...] = (
    Mutant("slice-backwards", f"{_READ}/indexing.py", "return max(start, -extent) if", "return start if"),
    Mutant("slice-of-open-size", f"{_READ}/indexing.py", "else subtract(0, extent)", "else start"),
    Mutant("slice-computed-steps", f"{_READ}/indexing.py", "(steps.array < 0).any()", "False"),
    Mutant("slice-of-sizes", f"{_READ}/sizes.py", "slice(max(start, -extent), ", "slice(start, "),
    Mutant("pads-after", f"{_READ}/indexing.py", "pads[position + len(axes)]", "pads[position]"),
    Mutant(
        "reshape-zero",
        f"{_READ}/layout.py",
        "            size = sizes[axis]\n        shape.append",
        "        shape.append",
    ),
    Mutant(
        "reshape-rest",
        f"{_READ}/layout.py",
        "left[0] if left else count // known",
        "left[0] if left else count",
    ),
    Mutant(
        "stashed-statistics",
        f"{_READ}/normalizations.py",
        "if node.dtype(x).itemsize < 4 else x\n    axes = list(range(axis, rank))",
        "if False else x\n    axes = list(range(axis, rank))",
    ),
    Mutant("running-mean", f"{_READ}/normalizations.py", "node.scalar(1 - keep, old)", "node.scalar(keep, old)"),
    Mutant(
        "softmax-of-old",
        f"{_READ}/normalizations.py",
        'if node.opset >= 13:\n        return node.emit(op, x, axis=node.integer("axis", -1))',
        'if node.opset >= 1:\n        return node.emit(op, x, axis=node.integer("axis", -1))',
    ),
    Mutant(
        "zero-point-later",
        f"{_READ}/quantization.py",
        "    result = node.emit(RoundOp, quotient)\n",
        "    result = quotient\n",
    ),
    Mutant(
        "saturation",
        f"{_READ}/quantization.py",
        "node.emit(ClipOp, result, min=float(limits[0]), max=float(limits[1]))",
        "result",
    ),
    Mutant("blocks-of-scales", f"{_READ}/quantization.py", "repeats=block, axis=axis)", "repeats=1, axis=axis)"),
    Mutant(
        "mean-of-many",
        f"{_READ}/arithmetic.py",
        "node.scalar(len(operands), operands[0])",
        "node.scalar(2, operands[0])",
    ),
    Mutant(
        "scaled-size",
        f"{_READ}/resizing.py",
        "scaled(shape[axis], number), float(number)",
        "scaled(shape[axis], number), None",
    ),
    # written
    Mutant(
        "written-backwards",
        f"{_WRITTEN}/operators/indexing.py",
        "start < -1 and (size == DYNAMIC or start < -size)",
        "False",
    ),
    Mutant(
        "written-empty",
        f"{_WRITTEN}/operators/indexing.py",
        'graph.emit("And", backwards, graph.emit("Less", begin, least))',
        "backwards",
    ),
    Mutant(
        "written-crop", f"{_WRITTEN}/operators/indexing.py", "high[axis] if high[axis] < 0 else _GREATEST", "_GREATEST"
    ),
    Mutant(
        "written-take", f"{_WRITTEN}/operators/indexing.py", "graph.scalar(-size, number)", "graph.scalar(0, number)"
    ),
    Mutant(
        "written-ratios",
        f"{_WRITTEN}/operators/shapes.py",
        "scales is None or _are_ratios(scales, size, extents)",
        "scales is None",
    ),
    Mutant(
        "written-resize-scales",
        f"{_WRITTEN}/operators/shapes.py",
        "DYNAMIC in extents or not _give(scales, size, extents)",
        "DYNAMIC in extents",
    ),
    Mutant(
        "written-unknown-sizes", f"{_WRITTEN}/operators/shapes.py", "if len(unknown) < 2 or 0 in shape:", "if True:"
    ),
    Mutant(
        "written-overhang",
        f"{_WRITTEN}/operators/reductions.py",
        "overhang[axis], leaves[axis] = max(0, -rest), rest > unseen",
        "overhang[axis] = max(0, -rest)",
    ),
    Mutant("written-unseen", f"{_WRITTEN}/operators/reductions.py", "        pads[axis + 2] -= unseen\n", ""),
    Mutant(
        "written-narrow-sums",
        f"{_WRITTEN}/operators/reductions.py",
        'dtype.kind in "iub" and dtype.itemsize < 4 and dtype not in takes',
        "False",
    ),
    Mutant(
        "written-unbiased",
        f"{_WRITTEN}/operators/reductions.py",
        "graph.scalar(_count(op) - 1, wide)",
        "graph.scalar(_count(op), wide)",
    ),
    Mutant(
        "written-types",
        f"{_WRITTEN}/graph.py",
        "if schema is not None and variable is not None:",
        "if False and schema is not None and variable is not None:",
    ),
    Mutant("written-opset", f"{_WRITTEN}/element_types.py", "_LATE_OPSETS.get(dtype.name, OPSET)", "OPSET"),
    Mutant(
        "written-rounding",
        f"{_WRITTEN}/graph.py",
        'self.emit("Cast", name, to=to) if each == variable else name',
        "name",
    ),
    Mutant(
        "written-sign",
        f"{_WRITTEN}/operators/elementwise.py",
        'graph.emit("Where", differs, graph.emit("Add", rest, operands[1]), rest)',
        "rest",
    ),
    Mutant(
        "written-floor",
        f"{_WRITTEN}/operators/elementwise.py",
        'quotient if dtype.kind == "u" else graph.emit("Floor", quotient)',
        "quotient",
    ),
    Mutant(
        "written-axis",
        f"{_WRITTEN}/operators/normalization.py",
        "[*others[:place], axis, *others[place:]]",
        "[*range(rank)]",
    ),
    Mutant(
        "written-kernel",
        f"{_WRITTEN}/operators/products.py",
        "graph.transpose(operands[1], permutation(kernel, plain))",
        "operands[1]",
    ),
    Mutant(
        "written-names",
        f"{_WRITTEN}/body.py",
        "if value in made and value not in renamed and not",
        "if value in made and not",
    ),
    Mutant(
        "written-outer-names",
        f"{_WRITTEN}/body.py",
        "value not in renamed and not self._has_subgraphs:",
        "value not in renamed:",
    ),
    Mutant("written-limit", f"{_WRITTEN}/body.py", 'self.writer.emit("Min", *bounds) if len(bounds) > 1 else', ""),
)

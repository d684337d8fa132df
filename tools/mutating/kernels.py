"""Mutants of what makes loops and code of them: `kernels` and `backends/llvm`."""

from mutating.mutant import Mutant

_LLVM = "backends/llvm"
_TILES = "backends/llvm/contractions"

KERNEL_MUTANTS: tuple[Mutant, ...] = (
    # simplify
    Mutant("fill-inside", "loops/simplify.py", "(inside, places[-1], fill)", "(inside, fill, places[-1])"),
    Mutant("guards-of-readers", "loops/simplify.py", "guards=(*copy.guards, *read.guards), otherwise", "otherwise"),
    Mutant("work-in-many-places", "loops/simplify.py", "return work <= max(CHEAP, room) and", "return work or"),
    Mutant("work-at-the-end", "loops/simplify.py", "FOR_A_PRODUCT * depth", "0"),
    Mutant("work-in-a-factor", "loops/simplify.py", "is not Combiner.ADD or reads(reader.body, buffer)", "is None"),
    Mutant("read-twice", "loops/simplify.py", "or reader.reduction is not None or len(found) != 1", "or not found"),
    Mutant("inverse-of-sizes", "loops/simplify.py", "own not in at and reader.axes[own].size ==", "own not in at or"),
    Mutant(
        "larger-readers",
        "loops/simplify.py",
        "if any(axis.size != 1 for place, axis in enumerate(reader.axes) if place not in at):",
        "if False:",
    ),
    Mutant(
        "start-of-pieces", "loops/simplify.py", "loop(place) + (start if place == axis else 0) for", "loop(place) for"
    ),
    Mutant(
        "offset-of-pieces",
        "loops/simplify.py",
        "values.append(index - (producer.store[axis].constant if producer.store else 0))",
        "values.append(index)",
    ),
    # indices
    Mutant(
        "joined-divisions",
        "loops/indices.py",
        "atom.by == rest.by and factor == factors[rest] * atom.by",
        "atom.by == rest.by",
    ),
    Mutant(
        "negative-factors",
        "loops/indices.py",
        "            least, greatest = greatest, least\n",
        "            pass\n",
    ),
    Mutant(
        "base-of-remainders",
        "loops/indices.py",
        "return rest - low // by * by",
        "return rest",
        same_because="where all loops are 0 the rest is at least 0 and less than the divisor, so that its base is 0",
    ),
    Mutant("guards-below-zero", "loops/indices.py", "if low is None or low < 0:", "if low is None:"),
    Mutant("nested-remainders", "loops/indices.py", "if inner % by == 0:", "if inner >= by:"),
    Mutant(
        "fine-below-zero",
        "loops/indices.py",
        "low is not None and low >= 0 and high is not None and high <",
        "high is not None and high <",
    ),
    # schedules
    Mutant(
        "guarded-axes",
        "loops/scheduling.py",
        'found |= guard_axes(getattr(inner, "guards", ()))',
        "pass",
    ),
    Mutant(
        "gaps",
        "loops/scheduling.py",
        "return all(\n        place.strides[outer",
        "return any(\n        place.strides[outer",
    ),
    Mutant(
        "needed-phases",
        "loops/scheduling.py",
        "Schedule(program, phases, is_parallel)",
        "Schedule(program, phases, True)",
    ),
    Mutant(
        "rest-of-widths",
        "loops/scheduling.py",
        "None if size is None else size % lanes",
        "None if size is None else size - lanes",
    ),
    Mutant(
        "rows-of-pieces",
        "loops/grouping.py",
        "for writer in writers.get(read.buffer, ()):",
        "for writer in writers.get(read.buffer, ())[:1]:",
    ),
    Mutant(
        "guarded-steps",
        "loops/grouping.py",
        "writer.reduction is None and not read.guards and",
        "writer.reduction is None and",
    ),
    Mutant("odd-strides", "loops/places.py", "return None if axis in self.odd_axes else self", "return self"),
    Mutant(
        "squeezed-axes",
        "loops/reaxing.py",
        "loop(places[axis]) if axis in places",
        "loop(axis) if axis in places",
    ),
    # contractions
    Mutant(
        "start-of-sums",
        "loops/contraction.py",
        "is not Combiner.ADD or stage.reduction.start.value != 0:",
        "is not Combiner.ADD:",
    ),
    Mutant(
        "side-of-columns",
        "loops/contraction.py",
        "if len(unit) != 1 or (unit[0] in factors[0].axes) == (unit[0] in factors[1].axes):",
        "if len(unit) != 1:",
    ),
    Mutant(
        "divided-ends",
        "loops/contraction.py",
        "return _recognised(program, stage) if _reads_are_flat(program, stage, stage.finish) else None",
        "return _recognised(program, stage)",
    ),
    Mutant(
        "border-behind",
        "loops/windowing.py",
        "(size - 1 - greatest) // factor + 1",
        "(size - greatest) // factor + 1",
    ),
    Mutant("border-before", "loops/windowing.py", "moving[0], -(least // factor), (", "moving[0], 0, ("),
    Mutant("packed-and-read", "loops/windowing.py", " and sum(r.buffer == read.buffer for r in reads) == 1:", ":"),
    Mutant(
        "both-guards",
        "loops/windowing.py",
        "Interval(max(old.first, first), min(old.stop, stop))",
        "Interval(first, stop)",
    ),
    Mutant("dilated-positions", "loops/convolution.py", "(self.taps - 1) * self.dilation + 1", "(self.taps - 1) + 1"),
    Mutant(
        "factor-of-positions",
        "loops/convolution.py",
        "Index(((Loop(position), ratio),)) if",
        "Index(((Loop(position), 1),)) if",
    ),
    Mutant(
        "last-panel",
        "loops/packing.py",
        "return -(-self.columns.size // self.width)",
        "return self.columns.size // self.width",
    ),
    Mutant(
        "start-of-packed",
        "loops/packing.py",
        "        place.constant.number,\n        tuple(map(strided, outer))",
        "        0,\n        tuple(map(strided, outer))",
    ),
    Mutant(
        "points-of-taps", "loops/packing.py", "yield np.subtract(outer, middle)", "yield np.subtract(middle, outer)"
    ),
    Mutant("split-evenly", "loops/reaxing.py", "size % atom.by == 0 and size > atom.by", "size > atom.by"),
    Mutant("merged-places", "loops/reaxing.py", "whole // size, whole % size", "whole // count, whole % count"),
    Mutant("constant-places", "loops/places.py", "constant + unit.times(position.constant)", "constant"),
    # bodies
    Mutant("zeros-alike", "loops/bodies.py", "key = repr(simple)", "key = str(hash(simple))"),
    Mutant("never-inside", "loops/bodies.py", "                return (), False\n", "                continue\n"),
    Mutant(
        "literal-choices",
        "loops/bodies.py",
        "                    case Literal(False):\n                        return other",
        "                    case Literal(False):\n                        return one",
    ),
    # scalars
    Mutant(
        "nan-of-extremes",
        f"{_LLVM}/scalars.py",
        'return f.select(f.compare("uno", wide, wide), rhs, f.freeze(chosen))',
        "return chosen",
    ),
    Mutant("zeros-of-extremes", f"{_LLVM}/scalars.py", '"and" if greater else "or"', '"or" if greater else "and"'),
    Mutant("unsigned-conversions", f"{_LLVM}/scalars.py", '_saturating("fptoui.sat")', '_saturating("fptosi.sat")'),
    Mutant(
        "remainders-of-rounded",
        f"{_LLVM}/scalars.py",
        "m.choose(is_wrong, m.add(rest, m.signed(rhs, lhs)), rest)",
        "rest",
    ),
    Mutant(
        "least-by-minus-one",
        f"{_LLVM}/integers.py",
        "safe = f.select(is_minus_one, constant(rhs.type, 1), _not_zero(f, rhs))",
        "safe = _not_zero(f, rhs)",
    ),
    Mutant(
        "shifts-beyond",
        f"{_LLVM}/integers.py",
        "return f.select(inside, shifted, constant(lhs.type, 0))",
        "return shifted",
    ),
    Mutant("half-ties", f"{_LLVM}/halves.py", "0xFFF - (112 << 23)", "0x1000 - (112 << 23)"),
    Mutant("half-nan", f"{_LLVM}/halves.py", "whole(0x7E00)", "whole(0x7C00)"),
    Mutant("half-infinities", f"{_LLVM}/halves.py", 'f.compare("olt", scaled', 'f.compare("ole", scaled'),
    Mutant("large-nearest", f"{_LLVM}/floats.py", 'self.choose(self.is_("olt", magnitude, shift), whole, x)', "whole"),
    Mutant(
        "scaled-at-once",
        f"{_LLVM}/floats.py",
        'self.f.binary("lshr", exponent.bits, self.whole(1))',
        'self.f.binary("sub", exponent.bits, self.whole(self.bias))',
    ),
    Mutant("sum-of-one", "loops/simplify.py", "result = _started(builder, result, stage.reduction)", "pass"),
    Mutant(
        "bounded-nan",
        f"{_LLVM}/floats.py",
        'self.f.compare("ogt", x, bound), bound, x',
        'self.f.compare("olt", x, bound), x, bound',
    ),
    Mutant(
        "rounded-twice",
        f"{_LLVM}/elements.py",
        "_rounded_to_odd(f, value) if value.type.bits",
        'f.cast("fptrunc", value, value.type.of("float")) if value.type.bits',
    ),
    Mutant("bfloat-nan", f"{_LLVM}/elements.py", 'f.select(f.compare("uno", value, value), quiet, rounded)', "rounded"),
    Mutant(
        "other-truths",
        f"{_LLVM}/elements.py",
        'f.compare("ne", value, constant(value.type, 0))',
        'f.cast("trunc", value, value.type.of("i1"))',
    ),
    Mutant(
        "denormal-logarithms",
        f"{_LLVM}/vector_math.py",
        "scale = float(2 ** (m.mantissa_bits + 2))",
        "scale = float(2 ** (m.mantissa_bits + 1))",
    ),
    Mutant(
        "negative-logarithms",
        f"{_LLVM}/vector_math.py",
        'return m.choose(m.is_("olt", x, 0.0), float("nan"), result)',
        "return result",
    ),
    Mutant("odd-powers", f"{_LLVM}/vector_math.py", "m.choose(is_odd, m.signed(result, x), result)", "result"),
    Mutant(
        "powers-of-one",
        f"{_LLVM}/vector_math.py",
        'm.f.binary("or", m.is_("oeq", x, 1.0), m.is_("oeq", y, 0.0))',
        'm.is_("oeq", y, 0.0)',
    ),
    # loops
    Mutant(
        "rest-of-loops",
        f"{_LLVM}/vector_loops.py",
        "last = stop if part.is_masked or step == 1 else",
        "last = stop if True else",
    ),
    Mutant("tiny-divisors", f"{_LLVM}/vector_loops.py", "2.0**-100", "2.0**-149"),
    Mutant(
        "masked-stores", f"{_LLVM}/memory.py", "f.masked_store(stored, pointer, self.mask)", "f.store(stored, pointer)"
    ),
    Mutant(
        "masked-guards",
        f"{_LLVM}/memory.py",
        'return guard if self.mask is None else self.addresses.f.binary("and", self.mask, guard)',
        "return guard",
    ),
    Mutant(
        "fill-of-guards", f"{_LLVM}/memory.py", "read.otherwise if read.otherwise is not None else Literal", "Literal"
    ),
    Mutant(
        "least-computed",
        f"{_LLVM}/addresses.py",
        'f.intrinsic("smax", wide.type, [low, constant(wide.type, 0)])',
        "low",
    ),
    Mutant("signed-guards", f"{_LLVM}/addresses.py", 'f.compare("ult", value', 'f.compare("slt", value'),
    Mutant("rounded-quotients", f"{_LLVM}/addresses.py", "1 - atom.by)), value)", "0)), value)"),
    Mutant(
        "pieces-in-registers", "loops/local_places.py", "return is_whole(stage, buffer.shape) and not", "return not"
    ),
    Mutant("blocks-of-rows", f"{_LLVM}/phases.py", "f.multiply(value, f.i64(loop.block or 1))", "value"),
    Mutant(
        "neutral-of-products",
        f"{_LLVM}/combining.py",
        "            return constant(type, 1)\n",
        "            return constant(type, 0)\n",
    ),
    Mutant(
        "unsigned-extremes",
        f"{_LLVM}/combining.py",
        'unsigned = reduction.start.element.startswith("ui") or lhs.type.bits == 1',
        "unsigned = False",
    ),
    Mutant(
        "starts",
        f"{_LLVM}/accumulators.py",
        "return [_started(code, stage, value) for value in own]",
        "return own",
    ),
    Mutant(
        "masked-sums", f"{_LLVM}/accumulators.py", "if at_once.mask is not None and code.nest", "if False and code.nest"
    ),
    # tiles
    Mutant(
        "first-of-blocks",
        f"{_TILES}/gemm.py",
        'first = f.compare("eq", loop.index, f.i64(0))',
        "first = constant(I1, 1)",
    ),
    Mutant(
        "rest-of-columns", f"{_TILES}/gemm.py", "if m.columns is None or m.columns % m.width:", "if m.columns is None:"
    ),
    Mutant(
        "rows-apart",
        "loops/matrix_schedule.py",
        "row = _number(self.direct.strides[rows[-1]].number) if rows else 0",
        "row = 1 if rows else 0",
    ),
    Mutant(
        "known-borders",
        f"{_LLVM}/contractions/windows.py",
        "                if self.form.start is not None and tile_axis is not None:",
        "                if False and tile_axis is not None:",
    ),
    Mutant(
        "rows-of-taps",
        f"{_LLVM}/contractions/windows.py",
        "lambda: self._added_once(outside, point,",
        "lambda: self._added_once(inside, point,",
    ),
    Mutant("decided-guards", "loops/windowing.py", "return 0 <= value < guard.size", "return 0 <= value"),
    Mutant("whole-windows", "loops/window_schedule.py", "first = min(max(interval.first, 0), size)", "first = 0"),
    Mutant("gates-cut-otherwise", "loops/choosing.py", "return all(cut == cuts[0] for cut in cuts)", "return True"),
    Mutant("packed-for-several", "loops/choosing.py", " if arguments[place] not in others)", ")"),
    Mutant("missing-features", f"{_LLVM}/processors.py", "if feature in mine), *missing", "if feature in mine)"),
    Mutant("other-machines", f"{_LLVM}/processors.py", 'if ("+neon" in wanted) != ("+neon" in mine):', "if False:"),
    Mutant("symbol-of-nothing", f"{_LLVM}/elf.py", "range(start + _SYMBOL_BYTES,", "range(start,"),
)

"""Mutants of what runs programs: `interpreters` and `backends/runtime`."""

from mutating.mutant import Mutant

_RUNTIME = "backends/runtime"

RUNTIME_MUTANTS: tuple[Mutant, ...] = (
    # hashing
    Mutant(
        "samples-of-the-end",
        f"{_RUNTIME}/hashing.py",
        "for number in range(_SAMPLES + 1)",
        "for number in range(_SAMPLES)",
    ),
    Mutant("samples-of-size", f"{_RUNTIME}/hashing.py", "sha256(str(size).encode())", "sha256()"),
    # interpreters
    Mutant(
        "dead-values",
        "interpreters/numpy.py",
        "tuple(value for value in values if value not in needed)",
        "tuple(values)",
    ),
    Mutant(
        "values-of-regions",
        "interpreters/numpy.py",
        "*(value for inner in ops_inside(op) for value in inner.operands)",
        "*()",
    ),
    Mutant(
        "checked-results",
        "interpreters/numpy.py",
        "    _check_results(op, results)\n    return results",
        "    return results",
    ),
    Mutant(
        "large-static-values",
        "interpreters/numpy.py",
        "                    check_value(result, self._limits.value_bytes)\n",
        "                    pass\n",
    ),
    Mutant("deep-regions", "interpreters/numpy.py", "replace(frame, depth=frame.depth + 1)", "frame"),
    Mutant(
        "abandoned-frames",
        "backends/runtime/program.py",
        " and not frame.is_abandoned:",
        ":",
    ),
    Mutant("first-iteration-counts", "interpreters/numpy.py", "if is_first(arguments):", "if False:"),
    Mutant("bodies-as-they-are", "interpreters/loop_costs.py", "isinstance(noted, IntegerAttr)", "False"),
    Mutant("calls-cost-nothing", "interpreters/loop_costs.py", "len(inside) + called", "len(inside)"),
    Mutant("shared-results", "interpreters/values.py", "for other in (*inputs, *own)", "for other in inputs"),
    Mutant(
        "read-only-results",
        "interpreters/values.py",
        "if not is_shared and result.flags.writeable:",
        "if not is_shared:",
    ),
    Mutant(
        "open-mismatch", "interpreters/values.py", "dim in (size, DYNAMIC) for dim, size", "dim == size for dim, size"
    ),
    Mutant(
        "open-limits",
        "interpreters/sizes.py",
        "        _check_types(_types_at_run_time(op, operands), limit)\n",
        "        pass\n",
    ),
    Mutant("called-sizes", "interpreters/sizes.py", "callee is not None and callee not in seen", "callee is None"),
    Mutant(
        "both-names",
        "interpreters/entry.py",
        "return [name if counts[name] == 1 else None for name in names]",
        "return names",
    ),
    Mutant(
        "unknown-inputs",
        "interpreters/input_names.py",
        "    if unused:\n        wanted",
        "    if False:\n        wanted",
    ),
    Mutant(
        "stacked-bytes",
        "interpreters/regions.py",
        "held += _array(op, value).nbytes",
        "held = _array(op, value).nbytes",
    ),
    Mutant(
        "rows-and-limit",
        "interpreters/regions.py",
        "return min(bounds) if bounds else None",
        "return max(bounds) if bounds else None",
    ),
    Mutant(
        "stopped-loop",
        "interpreters/regions.py",
        "goes_on = condition is None or is_true(op, condition)",
        "goes_on = True",
    ),
    Mutant("guarded-reads", "interpreters/loops.py", "if not held.all():  # only", "if False:  # only"),
    Mutant(
        "reads-outside",
        "interpreters/loops.py",
        "if place.size and not (place.min() >= 0 and place.max() < size)",
        "if place.size and not (place.max() < size)",
    ),
    Mutant(
        "parts-of-sums",
        "interpreters/loops.py",
        "total = combine(total, part).astype(total.dtype, copy=False)",
        "total = part",
    ),
    Mutant(
        "unsigned-remainder",
        "loops/meanings.py",
        '"arith.remui": _on_unsigned(np.fmod)',
        '"arith.remui": np.fmod',
    ),
    Mutant(
        "true-is-minus-one",
        "loops/meanings.py",
        "return -array.astype(np.int8) if array.dtype",
        "return array.astype(np.int8) if array.dtype",
    ),
    Mutant(
        "unordered-comparison",
        "loops/meanings.py",
        "    _not(np.less_equal),\n    _not(np.less),\n",
        "    np.greater,\n    _not(np.less),\n",
    ),
    Mutant(
        "infinite-differences",
        "interpreters/comparison.py",
        "(distance > allowed) | np.isinf(distance)",
        "distance > allowed",
    ),
    Mutant(
        "lost-differences",
        "interpreters/comparison.py",
        "        distance[(value != reference) & (distance < 1)] = 1.0\n",
        "        pass\n",
    ),
    # runtime
    Mutant(
        "views-by-mark",
        f"{_RUNTIME}/entry_graph.py",
        "and isinstance(value.op, FuseOp) and value.op.RESHAPE_ONLY",
        "and isinstance(value.op, FuseOp)",
    ),
    Mutant(
        "views-of-constants",
        f"{_RUNTIME}/entry_graph.py",
        "return value is not None and value is block.args[0] and",
        "return value is not None and",
    ),
    Mutant(
        "kernels-by-constants",
        f"{_RUNTIME}/entry_reader.py",
        "self.primitives.setdefault((function, constants)",
        "self.primitives.setdefault((function, frozenset[int]())",
    ),
    Mutant(
        "view-shapes",
        f"{_RUNTIME}/primitives.py",
        "if self.primitive.is_static and math.prod(result.get_shape()) == math.prod(source):",
        "if True:",
    ),
    Mutant(
        "one-name-two-sizes",
        f"{_RUNTIME}/shapes.py",
        "                return None\n    return sizes if",
        "                pass\n    return sizes if",
    ),
    Mutant(
        "sizes-of-results",
        f"{_RUNTIME}/shapes.py",
        "        compiled.check_sizes(found, [type.dtype for type in types])\n",
        "",
    ),
    Mutant(
        "lifetime-of-views",
        f"{_RUNTIME}/flow.py",
        "return (self.roots[number] for number in numbers if number is not None)",
        "return (number for number in numbers if number is not None)",
    ),
    Mutant(
        "held-outputs",
        f"{_RUNTIME}/plan.py",
        "        last[flow.roots[tensor]] = end\n",
        "        last[tensor] = last.get(tensor, 0)\n",
    ),
    Mutant(
        "output-once",
        f"{_RUNTIME}/plan.py",
        "        if places[root] is None:\n            places[root] = Place(Home.OUTPUT, position)",
        "        if True:\n            places[root] = Place(Home.OUTPUT, position)",
    ),
    Mutant(
        "smallest-gap",
        f"{_RUNTIME}/arena.py",
        "if lifetimes[other].last < life.first or life.last < lifetimes[other].first:",
        "if lifetimes[other].last <= life.first or life.last < lifetimes[other].first:",
    ),
    Mutant(
        "freed-early",
        f"{_RUNTIME}/arena.py",
        "while ends and ends[0][0] < life.first:",
        "while ends and ends[0][0] <= life.first:",
    ),
    Mutant(
        "own-twice",
        f"{_RUNTIME}/arrays.py",
        "own.append(own_array(result, [*arguments, *own]))",
        "own.append(own_array(result, arguments))",
    ),
    Mutant(
        "addresses-of-held",
        f"{_RUNTIME}/executable.py",
        "            for place in self.bound.get((Home.HELD, tensor), ()):",
        "            for place in self.bound.get((Home.HELD, tensor), ())[:1]:",
    ),
    Mutant(
        "constant-outputs",
        f"{_RUNTIME}/executable.py",
        "        python = list(self.graph.outputs)\n",
        "        python = list[int]()\n",
    ),
    Mutant(
        "kept-outputs",
        f"{_RUNTIME}/stepwise.py",
        "if last[tensor] == step and tensor not in kept:",
        "if last[tensor] == step:",
    ),
    Mutant("foreign-keys", f"{_RUNTIME}/cache.py", "digest = sha256(key.encode())", "digest = sha256()"),
    Mutant("others-write", f"{_RUNTIME}/cache.py", "status.st_mode & _OTHERS_MAY_WRITE else None", "False else None"),
    Mutant(
        "longest-unused",
        f"{_RUNTIME}/cache.py",
        "for _, path, size in sorted(files):",
        "for _, path, size in sorted(files)[::-1]:",
    ),
    Mutant(
        "overlapping-outputs",
        f"{_RUNTIME}/program.py",
        "if shares_memory(output, inputs) or (place and",
        "if (place and",
    ),
    Mutant(
        "handed-twice",
        f"{_RUNTIME}/executable.py",
        "(place.home is not Home.HELD or place.at in handed)",
        "place.home is not Home.HELD",
    ),
    Mutant(
        "recycled-views",
        f"{_RUNTIME}/recycling.py",
        "first = np.frombuffer(memoryview(cast(Any, memory)), np.uint8)",
        "first = memory.view()",
    ),
    Mutant(
        "repeated-constants",
        f"{_RUNTIME}/constants.py",
        "if array.nbytes > self._most_bytes and not is_dense(array):",
        "if False:",
    ),
    Mutant("kept-elements", f"{_RUNTIME}/constants.py", "if tensor not in self._wanted}", "}"),
)

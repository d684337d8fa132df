"""The mutants of `mutation.py`: changes of behaviour, each of which a user could notice."""

from mutating.kernels import KERNEL_MUTANTS
from mutating.memory import MEMORY_MUTANTS
from mutating.mutant import Mutant
from mutating.onnx_files import ONNX_MUTANTS
from mutating.plans import PLAN_MUTANTS
from mutating.running import RUNTIME_MUTANTS
from mutating.stored import STORED_MUTANTS

CORE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "key-of-results",
        "analysis/block_graph.py",
        "if place is not None and len(op.results) == 1:\n                return place",
        "if place is not None and len(op.results) >= 1:\n                return place",
    ),
    Mutant(
        "resolve-once",
        "transforms/outlining/rewiring.py",
        "while value in replacement and",
        "if value in replacement and",
    ),
    Mutant("order-of-dead-ops", "analysis/block_graph.py", "                builder.check_order(place, op)\n", ""),
    Mutant(
        "barrier-of-other-type",
        "transforms/outlining/outline.py",
        "isinstance(op, StopFusionOp) and op.result.type == op.input.type",
        "isinstance(op, StopFusionOp)",
    ),
    Mutant("escaping-outputs", "analysis/block_graph.py", "    builder.escaping.update(outputs)\n", ""),
    Mutant("dead-again", "transforms/outlining/outline_functions.py", "    return is_more\n", "    return False\n"),
    Mutant("captured-order", "analysis/ssa.py", "(*each.operands, *known[each])", "(*known[each], *each.operands)"),
    Mutant("captured-inner", "analysis/ssa.py", "if _block_of(value) not in blocks", "if True"),
    Mutant("effects-nested", "kinds/region_effects.py", "or (bool(each.regions) and known[each])", ""),
    Mutant("effects-any", "kinds/region_effects.py", "known[inner] = any(", "known[inner] = all("),
    Mutant("memref-operand", "kinds/kind_of.py", "if not op.results or any(", "if any("),
    Mutant("pinned", "transforms/defuse_ops.py", "        table.pinned = pinned\n", ""),
    Mutant(
        "call-attributes",
        "transforms/defuse_ops.py",
        "    return not call.attributes.keys() - {COMPUTED_AGAIN_ATTRIBUTE}\n",
        "    return True\n",
    ),
    Mutant(
        "copies-counted",
        "transforms/defuse_ops.py",
        "if not is_last and not budget.take",
        "if False and not budget.take",
    ),
    Mutant("moves-free", "transforms/defuse_ops.py", "if not is_last and not budget.take", "if not budget.take"),
    Mutant(
        "used-results",
        "fusion/value_graph.py",
        "return tuple(sorted(self.viewed[user] for user, _ in self.forward.users[node])) or tuple(gives)",
        "return tuple(gives)",
    ),
    Mutant(
        "key-of-floats",
        "transforms/outlining/primitives.py",
        'pack("<d", attribute.value.data)',
        'pack("<f", attribute.value.data)',
    ),
    # analysis: dominance and dominators
    Mutant(
        "values-stay-visible", "analysis/dominance.py", "self._visible.difference_update(defined)", "defined.clear()"
    ),
    Mutant("graph-regions", "analysis/dominance.py", "isinstance(parent, UnregisteredOp) or ", ""),
    Mutant(
        "own-regions",
        "analysis/dominance.py",
        "self._stack.append(_Rest(op, defined))  # (2)",
        "self._define(op, defined); self._stack.append(_Rest(op, defined))  # (2)",
    ),
    Mutant("idom-of-idom", "analysis/dominators.py", "idoms[index] = idoms[idoms[index]]", "pass"),
    Mutant(
        "least-label",
        "analysis/dominators.py",
        "if semi[label[above]] < semi[label[current]]:",
        "if semi[label[above]] > semi[label[current]]:",
    ),
    # analysis: where fusion looks
    Mutant(
        "functions-of-others",
        "analysis/fusible_blocks.py",
        "not {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE} &",
        "not {PRIMITIVE_ATTRIBUTE} &",
    ),
    Mutant(
        "functions-in-operators",
        "analysis/fusible_blocks.py",
        "(op is module or PATTERN_KIND_ATTRIBUTE not in op.attributes)",
        "True",
    ),
    Mutant("regions-of-operators", "analysis/fusible_blocks.py", "            and kind_of(op, effects) is None\n", ""),
    Mutant("tables-in-functions", "analysis/fusible_blocks.py", "            and not may_be_symbol_table(op)\n", ""),
    Mutant("tables-in-tables", "analysis/symbol_tables.py", "(inner is op or not may_be_symbol_table(inner))", "True"),
    Mutant(
        "unregistered-tables", "analysis/symbol_tables.py", "value_if_unregistered=True", "value_if_unregistered=False"
    ),
    # analysis: the graph of a block
    Mutant("dynamic-arguments", "analysis/edges.py", "1 + type.get_shape().count(DYNAMIC) if", "1 if"),
    Mutant("equal-shapes", "analysis/edges.py", " and type.shape == result_type.shape", ""),
    Mutant("scalar-constants", "analysis/constants.py", "type.get_num_dims() == 0 and ", ""),
    Mutant(
        "operand-order", "analysis/block_graph.py", "for read in reversed(entry.reads):", "for read in entry.reads:"
    ),
    Mutant("nested-tuples", "analysis/block_graph.py", "if not fuses)", "if False)"),
    Mutant(
        "embedded-cost-nothing",
        "analysis/block_graph.py",
        "weights.append(0 if is_embedded else argument_weight(value.type))",
        "weights.append(argument_weight(value.type))",
    ),
    Mutant(
        "users-reversed", "analysis/block_graph.py", "for key in self.entered:", "for key in reversed(self.entered):"
    ),
    Mutant("other-blocks", "analysis/ssa.py", "if any(not _is_inside(", "if all(not _is_inside("),
    Mutant(
        "own-result",
        "analysis/ssa.py",
        "and value.op.parent is block:",
        "and value.op.parent is block and value.op is not op:",
    ),
    Mutant(
        "read-by-terminator",
        "analysis/hardware_block_graph.py",
        "if reader is outer.block.last_op and reader.has_trait(IsTerminator):",
        "if False:",
    ),
    Mutant(
        "order-of-unknown-ops",
        "analysis/hardware_block_graph.py",
        "nodes[index] = replace(nodes[index], after=(previous,))",
        "pass",
    ),
    # fusion
    Mutant("stop-at-ipdom", "fusion/blocked_paths.py", "depth[stop] <= depth[ipdom]", "depth[stop] < depth[ipdom]"),
    Mutant(
        "stops-of-stops",
        "fusion/blocked_paths.py",
        "                    pending.append(source)\n",
        "                    pass\n",
    ),
    Mutant("end-of-path", "fusion/blocked_paths.py", "tree.depth[source] - 1 for", "tree.depth[source] for"),
    Mutant("reductions-raise", "fusion/group_forest.py", "_RAISING = (PatternKind.COMM_REDUCE, ", "_RAISING = ("),
    Mutant(
        "ring-of-members", "fusion/group_forest.py", "links[child], links[root] = links[root], links[child]", "pass"
    ),
    Mutant(
        "size-of-group",
        "fusion/limits.py",
        "count = size[sink_root] + size[source]",
        "count = size[sink] + size[source]",
    ),
    Mutant(
        "depth-reached",
        "fusion/limits.py",
        "                    if count > limit:",
        "                    if count >= limit:",
    ),
    Mutant(
        "least-between",
        "fusion/limits.py",
        "max(above[user] for",
        "min(above[user] for",
        "a lower bound that saves counting: a lesser one gives the same answers later",
    ),
    Mutant("results-are-arguments", "fusion/limits.py", "weight = self._weight_of_results(sink_root)", "weight = 0"),
    Mutant("arguments-kept", "fusion/limits.py", "self._outside[self._allowed[1]] = self._allowed[2]", "pass"),
    Mutant(
        "tuples-join",
        "fusion/partition.py",
        "tuples_have_joined |= PatternKind.TUPLE in row_of",
        "tuples_have_joined = False",
    ),
    Mutant(
        "limit-says-more",
        "fusion/partition.py",
        "elif before is None or before.limit is None or decision.limit is not None:",
        "else:",
    ),
    Mutant("members-barred", "fusion/partition.py", "barred.extend(groups.members(root))", "barred.append(root)"),
    Mutant(
        "escaping-joins",
        "fusion/post_dominators.py",
        "() if graph.escapes[node] else graph.users[node]",
        "graph.users[node]",
    ),
    Mutant("greatest-edge", "fusion/post_dominators.py", "if edge > kind:", "if edge < kind:"),
    Mutant("greatest-of-jump", "fusion/post_dominators.py", "best = greatest[near]", "best = near"),
    Mutant("two-anchors", "fusion/rules.py", "if anchor in row.sources & row.sinks:", "if False:"),
    Mutant("root-of-root", "fusion/assignment.py", " or root_of[root] != root:", ":"),
    Mutant(
        "escaping-member",
        "fusion/assignment.py",
        "if graph.escapes[node] or outside is not None:",
        "if outside is not None:",
    ),
    Mutant("second-phase", "fusion/tvm_rules.py", "phases=(0, 1)", "phases=(0,)"),
    # transforms: outlining
    Mutant("unknown-ops-in-order", "transforms/outlining/gather_ops.py", "followers[previous][item] = None", "pass"),
    Mutant("first-by-last-op", "transforms/outlining/gather_ops.py", "each[-1] - each[0] + 1 == len(each)", "each"),
    Mutant(
        "results-in-key",
        "transforms/outlining/primitives.py",
        "parts.append(tuple([reference[id(value)] for value in group.results]))",
        "pass",
    ),
    Mutant(
        "regions-in-key", "transforms/outlining/primitives.py", "            if op.regions:", "            if False:"
    ),
    Mutant(
        "names-of-others",
        "transforms/outlining/primitives.py",
        "while name in self._names:",
        "while name in self._next_suffix and name in self._names:",
    ),
    Mutant("mark-of-reshapes", "transforms/outlining/group.py", "if _only_reshape(own) else", "if False else"),
    Mutant("references-of-copies", "transforms/outlining/outline.py", "shared.extend(group.ops)", "pass"),
    # transforms: the passes
    Mutant("units-go", "transforms/defuse_ops.py", "op.attributes.pop(UNIT_ATTRIBUTE, None)", "pass"),
    Mutant(
        "public-stays", "transforms/defuse_ops.py", 'visibility is not None and visibility.data == "private" and ', ""
    ),
    Mutant("location-of-call", "transforms/defuse_ops.py", "new.op.location = call.location", "pass"),
    Mutant(
        "calls-counted",
        "transforms/extract_primitives.py",
        "extract.calls += calls[name]",
        "extract.calls = calls[name]",
    ),
    Mutant("primitives-that-call", "transforms/extract_primitives.py", " or any(_calls_in([function]))", ""),
    Mutant("siblings", "transforms/eliminate_common_subexpr.py", "            del self.known[key]", "            pass"),
    Mutant(
        "isolated",
        "transforms/eliminate_common_subexpr.py",
        "known = {} if is_isolated else scope.known",
        "known = scope.known",
    ),
    Mutant(
        "attributes-in-key", "transforms/eliminate_common_subexpr.py", "        frozenset(op.attributes.items()),\n", ""
    ),
    Mutant("types-in-key", "transforms/eliminate_common_subexpr.py", "        tuple(op.result_types),\n", ""),
    Mutant(
        "functions-left-alone",
        "transforms/unfinished.py",
        'LEFT_ALONE = ("primitive", "fuse.compiler")',
        'LEFT_ALONE = ("primitive",)',
    ),
    Mutant(
        "awaited-constants",
        "transforms/fold_constants.py",
        "return value in self.origin and bool(self.origin[value].uses)",
        "return False",
    ),
    Mutant(
        "splats-written-out",
        "transforms/fold_constants.py",
        "max(growth, written_out) > self.max_bytes",
        "growth > self.max_bytes",
    ),
    Mutant(
        "bytes-in-all",
        "transforms/fold_constants.py",
        "self.budget.take(bytes=max(growth, 0))",
        "True",
    ),
    Mutant("barriers-fold", "transforms/fold_constants.py", "isinstance(op, StopFusionOp) or ", ""),
    Mutant(
        "dropout-of-other-type",
        "transforms/simplify_inference.py",
        "new.operand(op.input) if op.input.type == op.result.type else None",
        "new.operand(op.input)",
    ),
    Mutant(
        "two-unknown-sizes",
        "transforms/simplify_inference.py",
        "if not remainder_says(shape):",
        "if shape.count(DYNAMIC) > 2:",
    ),
    Mutant("spread-of-scales", "transforms/scale_folding/moves.py", "self.spread + scale.spread > MAX_SPREAD", "False"),
    Mutant(
        "positive-scales",
        "transforms/scale_folding/moves.py",
        "(self.only_positive and not scale.is_positive)",
        "False",
    ),
    Mutant("zero-scales", "transforms/scale_folding/moves.py", "(self.only_nonzero and scale.has_zero)", "False"),
    Mutant(
        "scales-across-blocks",
        "transforms/scale_folding/moves.py",
        "isinstance(value.owner, Operation) and value.owner.parent is op.parent\n\n\ndef data_of",
        "isinstance(value.owner, Operation)\n\n\ndef data_of",
    ),
    Mutant(
        "pools-of-channels",
        "transforms/scale_folding/rules.py",
        'return op.layout.data.index("C") == axis',
        "return True",
    ),
    Mutant(
        "sign-of-bias",
        "transforms/scale_folding/biases.py",
        "factors = -term.factors if isinstance(op, SubtractOp) else term.factors",
        "factors = term.factors",
    ),
    Mutant(
        "wide-factors",
        "transforms/scale_folding/scale.py",
        "if any(size not in (1, shape[first + axis]) for axis, size in enumerate(array.shape)):",
        "if first < 0:",
    ),
    Mutant(
        "splat-of-scales",
        "transforms/scale_folding/scale.py",
        "different = without_repeats(array)",
        "different = array",
    ),
    Mutant(
        "written-scales",
        "transforms/scale_folding/moves.py",
        "elements = self.number_elements if scale.axis is None else self.vector_elements",
        "elements = self.number_elements",
    ),
    Mutant(
        "written-biases", "transforms/scale_folding/biases.py", "if not budget.take(bytes=vector.nbytes):", "if False:"
    ),
    Mutant(
        "divided-scales",
        "transforms/scale_folding/scale.py",
        "return Scale(scale.axis, 1 / scale.factors)",
        "return scale",
    ),
    Mutant(
        "written-norms",
        "transforms/simplify_inference.py",
        "if not budget.take(bytes=2 * known[0].size * dtype.itemsize):",
        "if False:",
    ),
    Mutant(
        "unknown-sizes-moved",
        "transforms/layouts/permutations.py",
        "and remainder_says(shape)",
        "and list(shape).count(DYNAMIC) <= 2",
    ),
    Mutant("profit", "transforms/convert_layout.py", "> sum(map(_bytes_of, wanting))", "> 0"),
    Mutant(
        "order-of-arguments",
        "transforms/layouts/rules.py",
        "isinstance(op, ArgReductionOp) and len(reduced) != 1",
        "isinstance(op, ArgReductionOp) and not reduced",
    ),
    Mutant(
        "batch-first",
        "transforms/layouts/rules.py",
        "return _axis(op, permutation) if permutation[0] == 0 else None",
        "return _axis(op, permutation)",
    ),
    Mutant("ones-at-the-end", "transforms/layouts/axis_groups.py", "if any(size != 1 for size in rest):", "if False:"),
)

MUTANTS = (
    *CORE_MUTANTS,
    *PLAN_MUTANTS,
    *KERNEL_MUTANTS,
    *ONNX_MUTANTS,
    *RUNTIME_MUTANTS,
    *MEMORY_MUTANTS,
    *STORED_MUTANTS,
)

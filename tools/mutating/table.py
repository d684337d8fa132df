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
        "fusion/ir/block_graph.py",
        "if place is not None and len(op.results) == 1:\n                return place",
        "if place is not None and len(op.results) >= 1:\n                return place",
    ),
    Mutant(
        "resolve-once",
        "fusion/outlining/rewiring.py",
        "while value in replacement and",
        "if value in replacement and",
    ),
    Mutant("order-of-dead-ops", "fusion/ir/block_graph.py", "                builder.check_order(place, op)\n", ""),
    Mutant(
        "barrier-of-other-type",
        "fusion/outlining/outline.py",
        "isinstance(op, StopFusionOp) and op.result.type == op.input.type",
        "isinstance(op, StopFusionOp)",
    ),
    Mutant("escaping-outputs", "fusion/ir/block_graph.py", "    builder.escaping.update(outputs)\n", ""),
    Mutant("dead-again", "fusion/outlining/outline_functions.py", "    return is_more\n", "    return False\n"),
    Mutant("captured-order", "fusion/ir/ssa.py", "(*each.operands, *known[each])", "(*known[each], *each.operands)"),
    Mutant("captured-inner", "fusion/ir/ssa.py", "if _block_of(value) not in blocks", "if True"),
    Mutant("effects-nested", "fusion/kinds/region_effects.py", "or (bool(each.regions) and known[each])", ""),
    Mutant("effects-any", "fusion/kinds/region_effects.py", "known[inner] = any(", "known[inner] = all("),
    Mutant("memref-operand", "fusion/kinds/kind_of.py", "if not op.results or any(", "if any("),
    Mutant("pinned", "fusion/defuse_ops.py", "        table.pinned = pinned\n", ""),
    Mutant(
        "call-attributes",
        "fusion/defuse_ops.py",
        "    return not call.attributes.keys() - {COMPUTED_AGAIN_ATTRIBUTE}\n",
        "    return True\n",
    ),
    Mutant(
        "copies-counted",
        "fusion/defuse_ops.py",
        "if not is_last and not budget.take",
        "if False and not budget.take",
    ),
    Mutant("moves-free", "fusion/defuse_ops.py", "if not is_last and not budget.take", "if not budget.take"),
    Mutant(
        "used-results",
        "fusion/core/value_graph.py",
        "return tuple(sorted(self.viewed[user] for user, _ in self.forward.users[node])) or tuple(gives)",
        "return tuple(gives)",
    ),
    Mutant(
        "key-of-floats",
        "fusion/outlining/primitives.py",
        'pack("<d", attribute.value.data)',
        'pack("<f", attribute.value.data)',
    ),
    # analysis: dominance and dominators
    Mutant(
        "values-stay-visible", "loading/dominance.py", "self._visible.difference_update(defined)", "defined.clear()"
    ),
    Mutant("graph-regions", "loading/dominance.py", "isinstance(parent, UnregisteredOp) or ", ""),
    Mutant(
        "own-regions",
        "loading/dominance.py",
        "self._stack.append(_Rest(op, defined))  # (2)",
        "self._define(op, defined); self._stack.append(_Rest(op, defined))  # (2)",
    ),
    Mutant("idom-of-idom", "loading/dominators.py", "idoms[index] = idoms[idoms[index]]", "pass"),
    Mutant(
        "least-label",
        "loading/dominators.py",
        "if semi[label[above]] < semi[label[current]]:",
        "if semi[label[above]] > semi[label[current]]:",
    ),
    # analysis: where fusion looks
    Mutant(
        "functions-of-others",
        "fusion/ir/fusible_blocks.py",
        "not {PRIMITIVE_ATTRIBUTE, COMPILER_ATTRIBUTE} &",
        "not {PRIMITIVE_ATTRIBUTE} &",
    ),
    Mutant(
        "functions-in-operators",
        "fusion/ir/fusible_blocks.py",
        "(op is module or PATTERN_KIND_ATTRIBUTE not in op.attributes)",
        "True",
    ),
    Mutant("regions-of-operators", "fusion/ir/fusible_blocks.py", "            and kind_of(op, effects) is None\n", ""),
    Mutant("tables-in-functions", "fusion/ir/fusible_blocks.py", "            and not may_be_symbol_table(op)\n", ""),
    Mutant("tables-in-tables", "fusion/ir/symbol_tables.py", "(inner is op or not may_be_symbol_table(inner))", "True"),
    Mutant(
        "unregistered-tables", "fusion/ir/symbol_tables.py", "value_if_unregistered=True", "value_if_unregistered=False"
    ),
    # analysis: the graph of a block
    Mutant("dynamic-arguments", "fusion/ir/edges.py", "1 + type.get_shape().count(DYNAMIC) if", "1 if"),
    Mutant("equal-shapes", "fusion/ir/edges.py", " and type.shape == result_type.shape", ""),
    Mutant("scalar-constants", "fusion/ir/constants.py", "type.get_num_dims() == 0 and ", ""),
    Mutant(
        "operand-order", "fusion/ir/block_graph.py", "for read in reversed(entry.reads):", "for read in entry.reads:"
    ),
    Mutant("nested-tuples", "fusion/ir/block_graph.py", "if not fuses)", "if False)"),
    Mutant(
        "embedded-cost-nothing",
        "fusion/ir/block_graph.py",
        "weights.append(0 if is_embedded else argument_weight(value.type))",
        "weights.append(argument_weight(value.type))",
    ),
    Mutant(
        "users-reversed", "fusion/ir/block_graph.py", "for key in self.entered:", "for key in reversed(self.entered):"
    ),
    Mutant("other-blocks", "fusion/ir/ssa.py", "if any(not _is_inside(", "if all(not _is_inside("),
    Mutant(
        "own-result",
        "fusion/ir/ssa.py",
        "and value.op.parent is block:",
        "and value.op.parent is block and value.op is not op:",
    ),
    Mutant(
        "read-by-terminator",
        "hardware/block_graph.py",
        "if reader is outer.block.last_op and reader.has_trait(IsTerminator):",
        "if False:",
    ),
    Mutant(
        "order-of-unknown-ops",
        "hardware/block_graph.py",
        "nodes[index] = replace(nodes[index], after=(previous,))",
        "pass",
    ),
    # fusion
    Mutant(
        "stop-at-ipdom", "fusion/core/blocked_paths.py", "depth[stop] <= depth[ipdom]", "depth[stop] < depth[ipdom]"
    ),
    Mutant(
        "stops-of-stops",
        "fusion/core/blocked_paths.py",
        "                    pending.append(source)\n",
        "                    pass\n",
    ),
    Mutant("end-of-path", "fusion/core/blocked_paths.py", "tree.depth[source] - 1 for", "tree.depth[source] for"),
    Mutant("reductions-raise", "fusion/core/group_forest.py", "_RAISING = (PatternKind.COMM_REDUCE, ", "_RAISING = ("),
    Mutant(
        "ring-of-members",
        "fusion/core/group_forest.py",
        "links[child], links[root] = links[root], links[child]",
        "pass",
    ),
    Mutant(
        "size-of-group",
        "fusion/core/limits.py",
        "count = size[sink_root] + size[source]",
        "count = size[sink] + size[source]",
    ),
    Mutant(
        "depth-reached",
        "fusion/core/limits.py",
        "                    if count > limit:",
        "                    if count >= limit:",
    ),
    Mutant(
        "least-between",
        "fusion/core/limits.py",
        "max(above[user] for",
        "min(above[user] for",
        "a lower bound that saves counting: a lesser one gives the same answers later",
    ),
    Mutant(
        "results-are-arguments", "fusion/core/limits.py", "weight = self._weight_of_results(sink_root)", "weight = 0"
    ),
    Mutant("arguments-kept", "fusion/core/limits.py", "self._outside[self._allowed[1]] = self._allowed[2]", "pass"),
    Mutant(
        "tuples-join",
        "fusion/core/partition.py",
        "tuples_have_joined |= PatternKind.TUPLE in row_of",
        "tuples_have_joined = False",
    ),
    Mutant(
        "limit-says-more",
        "fusion/core/partition.py",
        "elif before is None or before.limit is None or decision.limit is not None:",
        "else:",
    ),
    Mutant("members-barred", "fusion/core/partition.py", "barred.extend(groups.members(root))", "barred.append(root)"),
    Mutant(
        "escaping-joins",
        "fusion/core/post_dominators.py",
        "() if graph.escapes[node] else graph.users[node]",
        "graph.users[node]",
    ),
    Mutant("greatest-edge", "fusion/core/post_dominators.py", "if edge > kind:", "if edge < kind:"),
    Mutant("greatest-of-jump", "fusion/core/post_dominators.py", "best = greatest[near]", "best = near"),
    Mutant("two-anchors", "fusion/core/rules.py", "if anchor in row.sources & row.sinks:", "if False:"),
    Mutant("root-of-root", "fusion/core/assignment.py", " or root_of[root] != root:", ":"),
    Mutant(
        "escaping-member",
        "fusion/core/assignment.py",
        "if graph.escapes[node] or outside is not None:",
        "if outside is not None:",
    ),
    Mutant("second-phase", "fusion/core/tvm_rules.py", "phases=(0, 1)", "phases=(0,)"),
    # transforms: outlining
    Mutant("unknown-ops-in-order", "fusion/outlining/gather_ops.py", "followers[previous][item] = None", "pass"),
    Mutant("first-by-last-op", "fusion/outlining/gather_ops.py", "each[-1] - each[0] + 1 == len(each)", "each"),
    Mutant(
        "results-in-key",
        "fusion/outlining/primitives.py",
        "parts.append(tuple([reference[id(value)] for value in group.results]))",
        "pass",
    ),
    Mutant("regions-in-key", "fusion/outlining/primitives.py", "            if op.regions:", "            if False:"),
    Mutant(
        "names-of-others",
        "fusion/outlining/primitives.py",
        "while name in self._names:",
        "while name in self._next_suffix and name in self._names:",
    ),
    Mutant("mark-of-reshapes", "fusion/outlining/group.py", "if _only_reshape(own) else", "if False else"),
    Mutant("references-of-copies", "fusion/outlining/outline.py", "shared.extend(group.ops)", "pass"),
    # transforms: the passes
    Mutant("units-go", "fusion/defuse_ops.py", "op.attributes.pop(UNIT_ATTRIBUTE, None)", "pass"),
    Mutant("public-stays", "fusion/defuse_ops.py", 'visibility is not None and visibility.data == "private" and ', ""),
    Mutant("location-of-call", "fusion/defuse_ops.py", "new.op.location = call.location", "pass"),
    Mutant(
        "calls-counted",
        "fusion/extract_primitives.py",
        "extract.calls += calls[name]",
        "extract.calls = calls[name]",
    ),
    Mutant("primitives-that-call", "fusion/extract_primitives.py", " or any(_calls_in([function]))", ""),
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

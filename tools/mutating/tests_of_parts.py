"""Which tests a mutant meets, by the part of the package that it is in."""

from collections.abc import Mapping, Sequence

_CORE = (
    "tests/transforms/test_core_details.py",
    "tests/transforms/test_pass_details.py",
    "tests/transforms/test_untrusted.py",
)
_DEFUSE = "tests/transforms/test_defuse_ops.py"
_FUSE = "tests/transforms/test_fuse_ops.py"
_OUTLINING = "tests/transforms/test_outlining_details.py"
_PLAN = "tests/fusion/test_plan_details.py"
_BY_COST = "tests/transforms/test_fuse_by_cost.py"
_LAW, _JOINS = "tests/loops/test_law.py", "tests/loops/test_joins.py"
_COST, _ASSIGNMENT = "tests/fusion/test_cost.py", "tests/fusion/test_assignment.py"

_PASSES = (
    _OUTLINING,
    *_CORE,
    "tests/transforms/test_constant_details.py",
    _DEFUSE,
    "tests/transforms/test_eliminate_common_subexpr.py",
    "tests/transforms/test_fold_constants.py",
    "tests/transforms/test_simplify_inference.py",
    "tests/transforms/test_fold_scale_axis.py",
    "tests/transforms/test_convert_layout.py",
    "tests/transforms/test_fuse_ops_hw.py",
    _FUSE,
)

TESTS: Mapping[str, Sequence[str]] = {
    "fuse_dialect.fusion.ir": (
        _OUTLINING,
        *_CORE,
        "tests/fusion/kinds",
        "tests/loading/test_dominance.py",
        _DEFUSE,
        _FUSE,
        "tests/transforms/test_fuse_ops_hw.py",
        "tests/transforms/test_argument_limit.py",
    ),
    "fuse_dialect.fusion": (_PLAN, _COST, _ASSIGNMENT, "tests/test_own_package.py", "tests/fusion", _FUSE, _BY_COST),
    "fuse_dialect.cost": (_BY_COST, "tests/fusion", "tests/backends/conformance/test_programs.py"),
    "fuse_dialect.loading": ("tests/loading", _OUTLINING, *_CORE),
    "fuse_dialect.hardware": ("tests/transforms/test_fuse_ops_hw.py", "tests/hardware/test_constraints.py", _OUTLINING),
    "fuse_dialect.templates": (
        "tests/hardware/test_plan.py",
        "tests/hardware/test_regions.py",
        "tests/hardware/test_search.py",
        "tests/hardware/test_tiles.py",
    ),
    "fuse_dialect.backends.assembler": ("tests/backends/llvm/test_objects.py", "tests/backends/assembler"),
    "fuse_dialect.fusion.kinds": (*_CORE, "tests/fusion/kinds", _FUSE),
    "fuse_dialect.frontends.onnx": (
        "tests/frontends/test_onnx_results.py",
        "tests/frontends/test_onnx_import.py",
        "tests/frontends/test_onnx_dynamic.py",
        "tests/frontends/test_onnx_invalid.py",
        "tests/frontends/test_onnx_expansion.py",
        "tests/frontends/test_onnx_nodes.py",
    ),
    "fuse_dialect.targets.onnx": (
        "tests/targets/test_onnx_forms.py",
        "tests/frontends/test_onnx_results.py",
        "tests/targets/test_onnx_target.py",
    ),
    "fuse_dialect.interpreters": (
        "tests/interpreters",
        "tests/loops/test_ops_as_loops.py",
        "tests/backends/conformance/test_own_results.py",
        "tests/backends/conformance/test_limits.py",
        "tests/backends/test_loop_limits.py",
        "tests/tools/test_fuse_run.py",
    ),
    "fuse_dialect.backends.runtime": (
        "tests/backends/test_program_memory.py",
        "tests/backends/test_native_loops.py",
        "tests/backends/test_changing_loops.py",
        "tests/backends/test_arena.py",
        "tests/backends/test_cache.py",
        "tests/backends/test_program.py",
        "tests/backends/conformance/test_views.py",
        "tests/backends/conformance/test_own_results.py",
        "tests/backends/conformance/test_limits.py",
        "tests/backends/test_entry_graph.py",
        "tests/backends/conformance/test_arguments.py",
        "tests/backends/test_interrupts.py",
    ),
    "fuse_dialect.backends.stored": (
        "tests/backends/stored",
        "tests/backends/test_cache.py",
        "tests/loading/test_saved_programs.py",
    ),
    "fuse_dialect.frontends.mlir": ("tests/backends/stored/test_file_states.py", "tests/tools/test_weights.py"),
    "fuse_dialect.frontends.onnx.tensors": (
        "tests/backends/stored/test_file_states.py",
        "tests/frontends/test_onnx_import.py",
    ),
    "fuse_dialect.loops.meanings": (
        "tests/interpreters/test_scalar.py",
        "tests/interpreters",
        "tests/dialect/test_facets.py",
    ),
    "fuse_dialect.loops": (
        _LAW,
        _JOINS,
        "tests/loops/test_choosing.py",
        "tests/backends/test_kernel_memory.py",
        "tests/loops/test_details.py",
        "tests/loops/test_simplify.py",
        "tests/loops/test_contraction.py",
        "tests/loops/test_indices.py",
        "tests/backends/llvm/test_bounded_quotients.py",
        "tests/backends/llvm/test_pieces.py",
        "tests/backends/llvm/test_programs.py",
        "tests/backends/llvm/test_edges_of_code.py",
        "tests/backends/llvm/test_contractions.py",
    ),
    "fuse_dialect.backends.llvm": (
        "tests/backends/llvm/test_checked_kernels.py",
        "tests/backends/llvm/test_finishing.py",
        "tests/backends/llvm/test_objects.py",
        "tests/backends/llvm/test_pieces.py",
        "tests/backends/llvm/test_vector_math.py",
        "tests/backends/llvm/test_scalars.py",
        "tests/backends/llvm/test_edges_of_code.py",
        "tests/backends/llvm/test_programs.py",
        "tests/backends/llvm/test_contractions.py",
        "tests/backends/llvm/test_tiles.py",
    ),
    "fuse_dialect.extensions": ("tests/test_own_package.py",),
    "fuse_dialect.transforms": _PASSES,
    "fuse_dialect.fusion.outlining": _PASSES,
    "fuse_dialect.fusion.inlining": _PASSES,
    "fuse_dialect.analysis.kernel_costs": (_COST, "tests/fusion"),
    "fuse_dialect.dialect.op_sources": ("tests/frontends/test_sources.py",),
}
"""For each part of the package the tests that its mutants meet, the fastest first."""
FIRST: Mapping[str, str] = {
    "fuse_dialect.fusion.core.plan": _PLAN,
    "fuse_dialect.fusion.core.decision": _PLAN,
    "fuse_dialect.fusion.core.value_graph": _PLAN,
    "fuse_dialect.fusion.ir.graph_facts": _OUTLINING,
    "fuse_dialect.fusion.outlining": _OUTLINING,
    "fuse_dialect.cost": _BY_COST,
    "fuse_dialect.loops.law": _LAW,
    "fuse_dialect.loops.bounds": _LAW,
    "fuse_dialect.loops.pairs": _JOINS,
    "fuse_dialect.loops.joins": _JOINS,
    "fuse_dialect.loops.local_places": "tests/backends/test_kernel_memory.py",
    "fuse_dialect.loops.byte_rounding": "tests/backends/llvm/test_bounded_quotients.py",
    "fuse_dialect.loops.choosing": "tests/loops/test_choosing.py",
    "fuse_dialect.backends.runtime.flow": "tests/backends/test_native_loops.py",
    "fuse_dialect.backends.runtime.control_code": "tests/backends/test_native_loops.py",
    "fuse_dialect.backends.runtime.control_layout": "tests/backends/test_native_loops.py",
    "fuse_dialect.backends.runtime.loop_tracing": "tests/backends/test_changing_loops.py",
    "fuse_dialect.loops.indices": "tests/loops/test_details.py",
    "fuse_dialect.backends.llvm.contractions.emulated_tiles": "tests/backends/llvm/test_tiles.py",
    "fuse_dialect.backends.llvm.contractions.tile_registers": "tests/backends/llvm/test_tiles.py",
    "fuse_dialect.backends.llvm.contractions": "tests/backends/llvm/test_contractions.py",
    "fuse_dialect.backends.assembler.elf": "tests/backends/llvm/test_objects.py",
    "fuse_dialect.backends.llvm.finishing": "tests/backends/llvm/test_finishing.py",
    "fuse_dialect.backends.llvm.processors": "tests/backends/llvm/test_edges_of_code.py",
    "fuse_dialect.backends.llvm.vector_math": "tests/backends/llvm/test_vector_math.py",
    "fuse_dialect.backends.llvm.floats": "tests/backends/llvm/test_vector_math.py",
    "fuse_dialect.backends.llvm.scalars": "tests/backends/llvm/test_scalars.py",
    "fuse_dialect.backends.llvm.integers": "tests/backends/llvm/test_scalars.py",
    "fuse_dialect.backends.llvm.halves": "tests/backends/llvm/test_scalars.py",
    "fuse_dialect.backends.llvm.elements": "tests/backends/llvm/test_scalars.py",
    "fuse_dialect.backends.llvm": "tests/backends/llvm/test_edges_of_code.py",
}
"""For files and folders the test of the row that most likely notices a mutant; else it is the one of the same name."""

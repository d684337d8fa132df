"""The mutants of `mutation.py`: for each module the functions, the rules, and the numbers of the places that change.

What a row means stands in `rules.py`; `python tools/mutation.py --list PREFIX` shows what its mutants change.
"""

from collections.abc import Mapping

MUTANTS: Mapping[str, str] = {
    "fuse_dialect.backends.assembler.elf": "undefined_symbols operand 0",
    "fuse_dialect.backends.llvm.accumulators": "_totals return-early 2; accumulate drop-term 3",
    "fuse_dialect.backends.llvm.addresses": """
        Addresses._divided operand 12; Addresses._inside drop-element 3 return-early 0; Addresses.guards other-word 0
    """,
    "fuse_dialect.backends.llvm.combining": "combine drop-term 0; neutral minus-one 7",
    "fuse_dialect.backends.llvm.contractions.gemm": "_Gemm._block drop-term 3; _Gemm._depth_blocks other-word 0",
    "fuse_dialect.backends.llvm.contractions.tile_registers": """
        RegisterSums.begin swap 3; TileShape.configuration swap 4; pieces_of operator 5
    """,
    "fuse_dialect.backends.llvm.contractions.windows": "_Tile._added drop-term 0; _Tile._looped plus-one 4",
    "fuse_dialect.backends.llvm.elements": "_as_bfloat argument 43; from_memory return-early 0; narrowed drop 0",
    "fuse_dialect.backends.llvm.finishing": "joins_bytes false 0",
    "fuse_dialect.backends.llvm.floats": """
        Floats.at_most swap 1; Floats.nearest argument 16; Floats.scaled plus-one 5
    """,
    "fuse_dialect.backends.llvm.halves": "narrowed drop 3 plus-one 5; widened other-word 1",
    "fuse_dialect.backends.llvm.integers": "_signed argument 9; shift argument 28",
    "fuse_dialect.backends.llvm.memory": """
        Reader._both branch 0; Reader._otherwise branch 1; Reader._read_scalar drop-element 0;
        Reader._store_vector drop 2; Reader.read_at branch 0 true 0
    """,
    "fuse_dialect.backends.llvm.phases": "_row_env argument 18",
    "fuse_dialect.backends.llvm.processors": "_within drop-element 5 false 1",
    "fuse_dialect.backends.llvm.scalars": """
        <module> other-word 6; _extremum swap 30; _small argument 46; extreme return-early 1
    """,
    "fuse_dialect.backends.llvm.vector_loops": "_plain_vector_loop true 1; _reciprocals operand 1",
    "fuse_dialect.backends.llvm.vector_math": "_log_edges argument 21; _split minus-one 2; pow argument 48 83",
    "fuse_dialect.backends.runtime.arena": "_by_time bound 0; _smallest_gap bound 0",
    "fuse_dialect.backends.runtime.arrays": "own_arrays drop-element 1",
    "fuse_dialect.backends.runtime.cache": "ObjectCache._shrink first 1; _digest drop-argument 0; distrust false 2",
    "fuse_dialect.backends.runtime.constants": "Constants.check false 0; Constants.expect true 0",
    "fuse_dialect.backends.runtime.control_code": """
        _Descriptor.charge drop 0; _Descriptor.follow drop 1; _Descriptor.move drop 1; _Descriptor.turn drop 1 2 3;
        _write_loop_begin drop 1 2 3; _write_loop_end drop 1
    """,
    "fuse_dialect.backends.runtime.control_layout": """
        ControlLayout._add_descriptor operand 0; ControlLayout._add_records drop 2 9; ControlLayout.row drop 2
    """,
    "fuse_dialect.backends.runtime.entry_graph": "Primitive.is_view drop-term 6 8",
    "fuse_dialect.backends.runtime.entry_reader": "_Reader._call drop-element 3",
    "fuse_dialect.backends.runtime.executable": """
        Executable._add_slots operand 0 1; Executable._want_constants other-truth 0; Executable._delivered drop-term 3;
        Executable.run_numpy first 2
    """,
    "fuse_dialect.backends.runtime.flow": """
        Flow.reads drop-element 3 4 6 negate 0; Flow.writes drop-element 1 2;
        _Flattening._add_branch operand 2 operator 2;
        _Flattening._add_loop drop 6 drop-term 0 1 2 3 5 false 3 operand 1; _Flattening._written_since whole 1
    """,
    "fuse_dialect.backends.runtime.hashing": "digest_of_samples drop-argument 6 operand 8",
    "fuse_dialect.backends.runtime.loop_tracing": "_count negate 4; _trace_kind drop 2 swap 3",
    "fuse_dialect.backends.runtime.plan": """
        _given_places drop-element 3; _place_outputs true 0; _uses bound 0 drop 3;
        make_plan drop 6 drop-element 2 plus-one 0
    """,
    "fuse_dialect.backends.runtime.primitives": "Compiled.view_shape true 0",
    "fuse_dialect.backends.runtime.program": "Program._run drop-term 1; _may_be_written drop-term 6",
    "fuse_dialect.backends.runtime.recycling": "RecycledMemory.empty drop 0",
    "fuse_dialect.backends.runtime.shapes": "_Resolving._call drop 0",
    "fuse_dialect.backends.runtime.stepwise": "run_stepwise drop-term 1",
    "fuse_dialect.backends.stored.files": """
        FilesRead.note drop 0; _compare drop-term 1; _digest drop 0; _identity drop-element 4; _state bound 0;
        absolute return-early 0
    """,
    "fuse_dialect.backends.stored.image": "_image drop 5 6 7; _part operand 0",
    "fuse_dialect.backends.stored.key": "<module> drop-element 4; _own_files drop 0",
    "fuse_dialect.backends.stored.linking": "_Linking.place drop-term 2",
    "fuse_dialect.backends.stored.machine_code": "MachineCode.__init__ operator 6",
    "fuse_dialect.backends.stored.saved_file": """
        SavedFile.image drop-term 3; _check_members negate 1 negate 2 drop-term 0; _opened drop-term 3
    """,
    "fuse_dialect.backends.stored.store": """
        ProgramStore._changed drop-element 0 1; ProgramStore._same negate 2 true 1;
        ProgramStore.keep.write branch 1; ProgramStore.keep.write.fill argument 3;
        open_store drop-argument 15 drop-element 4
    """,
    "fuse_dialect.extensions": "loaded drop-element 0 false 0",
    "fuse_dialect.frontends.mlir.weights_file": "_tensors false 1",
    "fuse_dialect.frontends.onnx.operators.arithmetic": "import_mean plus-one 0",
    "fuse_dialect.frontends.onnx.operators.indexing": """
        _dynamic_slice drop-term 1; _first argument 6 negate 2; import_pad operand 12
    """,
    "fuse_dialect.frontends.onnx.operators.layout": "_resolve operand 4; import_reshape drop 2",
    "fuse_dialect.frontends.onnx.operators.normalizations": """
        _softmax bound 0; import_batch_norm operand 1; import_layer_norm false 2
    """,
    "fuse_dialect.frontends.onnx.operators.quantization": "_along_axis drop 2; to_integers argument 4 16",
    "fuse_dialect.frontends.onnx.operators.resizing": "_target drop 3",
    "fuse_dialect.frontends.onnx.operators.sizes": "_slice argument 41",
    "fuse_dialect.frontends.onnx.tensors": "_mapped drop-argument 1",
    "fuse_dialect.cost.steps": "Steps.__init__ drop 3; Steps._add drop 1 2 negate 0",
    "fuse_dialect.fusion.core.assignment": """
        _group drop 0 drop-term 0; check_roots drop-element 1 drop-term 1 2 false 7; partition_of_roots branch 1
    """,
    "fuse_dialect.fusion.core.blocked_paths": """
        BlockedPaths._find_open_paths bound 2; BlockedPaths.bar drop 4; _OpenPaths.__init__ operand 6
    """,
    "fuse_dialect.analysis.kernel_costs": """
        Cost.bytes true 0; Cost.open_values drop-term 1; _greater negate 4 true 0;
        kernel_cost branch 0 drop-element 3 operator 0 true 0 2
    """,
    "fuse_dialect.fusion.core.decision": "FusionDecision.__bool__ negate 0",
    "fuse_dialect.fusion.core.group_forest": "<module> drop-element 0; GroupForest.merge drop 7",
    "fuse_dialect.fusion.core.limits": """
        ArgumentLimit.exceeded_by drop 0 1; DepthLimit.exceeded_by bound 4 operator 0;
        _least_nodes_between other-name 0
    """,
    "fuse_dialect.fusion.core.partition": "_Partitioner._merge drop 2; _Partitioner.run drop 2 false 7",
    "fuse_dialect.fusion.core.plan": """
        _check_nodes bound 0 drop-term 1 3 5 true 1 3; _check_order drop 5 drop-term 2 5 negate 9;
        _check_outputs drop-term 1 5 6 false 0 2 8 negate 5; _decisions branch 0 false 2 true 0; _holders bound 0;
        _is_needed drop-term 0 2 false 0 other-name 1; _stored false 1 minus-one 0 other-name 0;
        check_plan drop-term 1; kernels_of drop-term 1 false 1 true 1; plan_of_nodes argument 17 drop 1
    """,
    "fuse_dialect.fusion.core.post_dominators": """
        _GrowingTree._add_leaf true 2; _GrowingTree._meet negate 0; post_dominator_tree branch 1
    """,
    "fuse_dialect.fusion.core.rules": "_problems_of_rows false 5",
    "fuse_dialect.fusion.core.step_order": "StepOrder._reached false 3; StepOrder.merge drop-element 1 swap 3",
    "fuse_dialect.fusion.core.tvm_rules": "<module> drop-element 6",
    "fuse_dialect.fusion.core.value_graph": """
        NodeRole.is_view drop-element 1; NodeRole.may_move drop-element 0; ValueGraph.facts plus-one 0;
        ValueGraph.results_of drop-term 0 1; value_graph_of drop-term 1; value_graph_of.facts drop-term 0 4
    """,
    "fuse_dialect.fusion.inlining": """
        _CallsOfTable._check_copies drop-term 4 negate 4; _CallsOfTable._is_private false 0; _can_go operand 0;
        _forget_fusion drop 0 2; inline_calls drop 2
    """,
    "fuse_dialect.transforms.extract_primitives": "ExtractPrimitivesPass.apply drop 1; _structure drop-term 1",
    "fuse_dialect.fusion.ir.block_graph": """
        _GraphBuilder.enter_tuple_op false 2; _GraphBuilder.key_of bound 0; _GraphBuilder.users first 0;
        _GraphBuilder.visit argument 10; _values.number_of branch 1; build_graph drop 4 5
    """,
    "fuse_dialect.fusion.ir.constants": "is_scalar_constant drop-term 0",
    "fuse_dialect.fusion.ir.fusible_blocks": """
        _walk_outside_operators drop-term 1; functions_to_fuse drop-element 1; fusible_blocks drop-term 3 4
    """,
    "fuse_dialect.fusion.ir.graph_facts": "_orders drop-term 1; graph_facts drop-term 6",
    "fuse_dialect.dialect.op_sources": "_text drop-term 0 swap 4",
    "fuse_dialect.fusion.ir.ssa": """
        CapturedValues.of swap 2 true 3; check_ssa_order negate 0; seen_by_other_blocks other-name 0
    """,
    "fuse_dialect.fusion.ir.symbol_tables": "may_be_symbol_table other-truth 0; walk_table drop-term 1",
    "fuse_dialect.fusion.kinds.edges": "edge_kind negate 1",
    "fuse_dialect.fusion.kinds.kind_of": "_may_have_effects drop-term 0",
    "fuse_dialect.fusion.kinds.region_effects": "RegionEffects.may_have drop-term 3 other-name 0",
    "fuse_dialect.fusion.outlining.arrange": """
        _embedded_twice drop-term 1; _with_copies drop 0 1 negate 5; arranged drop 3 5 7 true 4
    """,
    "fuse_dialect.fusion.outlining.copies": """
        Copies.add bound 0; Copies.add_originals drop 0; Copies.merge drop 0 4 drop-element 1 drop-term 1;
        _is_equal negate 1 2 3 4 other-truth 0
    """,
    "fuse_dialect.fusion.outlining.gather_ops": "_sorted_items drop 1; gather_ops operand 1",
    "fuse_dialect.fusion.outlining.group": """
        _movers and-or 1 argument 15 drop 2 negate 5; _value operand 0; groups_of drop 3 5 false 7 negate 5
    """,
    "fuse_dialect.fusion.outlining.outline": """
        _move_into_function drop 2; _remove_stop_fusion drop-term 1; outline drop 3
    """,
    "fuse_dialect.fusion.outlining.outline_functions": "erase_dead_chains return-early 1",
    "fuse_dialect.fusion.outlining.primitives": """
        <module> other-word 0; Primitives.structure drop 8 false 0 3; Primitives.unique_symbol negate 0
    """,
    "fuse_dialect.fusion.outlining.rewiring": "resolve negate 1",
    "fuse_dialect.hardware.block_graph": "_Builder.with_order_of_unknown_ops drop 1; is_read_outside false 1",
    "fuse_dialect.interpreters.comparison": "_distance drop 1; difference operand 4",
    "fuse_dialect.interpreters.entry": "model_names branch 2",
    "fuse_dialect.interpreters.input_names": "inputs_by_name false 5",
    "fuse_dialect.interpreters.loop_costs": "LoopCosts.iteration operand 0; marked_iteration false 0",
    "fuse_dialect.interpreters.loops": "Points._read drop-term 2 false 1; _reduced drop 2",
    "fuse_dialect.interpreters.numpy": """
        Runner._iteration false 0; Runner._plan drop 0; Runner._region argument 6; _steps drop-element 3 true 1;
        evaluate drop 4
    """,
    "fuse_dialect.interpreters.regions": "_iterations other-name 0; run_loop drop 3 drop-term 7",
    "fuse_dialect.interpreters.sizes": "check_sizes drop-term 1; evaluate_within drop 1",
    "fuse_dialect.interpreters.values": "mismatch negate 6; separate drop-term 1 other-name 0",
    "fuse_dialect.loading.dominance": "_Walk._check_ops drop 1; _Walk.run drop 5; _is_graph drop-term 0",
    "fuse_dialect.loading.dominators": "_Forest.least negate 2; immediate_dominators drop 8",
    "fuse_dialect.loops.bodies": """
        BodyBuilder._guards other-truth 1; BodyBuilder._simplified return-early 4; BodyBuilder.add true 0
    """,
    "fuse_dialect.loops.byte_rounding": "_with_rounding true 0; zero_point_of return-early 0",
    "fuse_dialect.loops.choosing": "_are_cut_alike other-name 0; _own_constants true 1",
    "fuse_dialect.loops.contraction": "_merged_pair branch 0; _recognised drop-term 1; contraction_of drop-term 2",
    "fuse_dialect.loops.convolution": "Window.positions operand 8; _in_positions operator 2",
    "fuse_dialect.loops.grouping": "_is_in_step drop-term 1; shared_rows return-early 3",
    "fuse_dialect.loops.indices": """
        _remainder operand 0; _stepped drop-term 0; _whole_of drop-term 2; holds drop-term 8; range_of drop-term 0;
        remainder operand 4
    """,
    "fuse_dialect.loops.iteration_space": """
        _division drop-term 1; merged_axes operand 6; without_single_points plus-one 1
    """,
    "fuse_dialect.loops.local_places": """
        _result_in_its_place drop-term 1 3 11 minus-one 0; _stays_in_phase drop-term 0 1;
        _stays_in_registers drop-term 0 3 false 2; place_locals negate 2
    """,
    "fuse_dialect.loops.matrix_schedule": "Matrices.walk branch 5",
    "fuse_dialect.loops.collapsing": "_Pair.place drop-term 1; _collapsed drop-term 0; _guards operator 0",
    "fuse_dialect.loops.meanings": "<module> argument 37 other-word 8; _signed operand 0",
    "fuse_dialect.loops.packed_dots": "_by_units false 2 3; _by_units.at operator 1",
    "fuse_dialect.loops.packing": "Packing.panels operand 0; _points_of swap 5; packing_of operand 0",
    "fuse_dialect.loops.places": "Place.stride branch 1; _place operand 0",
    "fuse_dialect.loops.scheduling": """
        _is_gapless other-name 1; _single_axes drop 2; halves operator 0; schedule return-early 0
    """,
    "fuse_dialect.loops.simplify": """
        _at drop-argument 28 operand 0; _computed swap 15; _finished drop-term 2;
        _inverse drop-term 3 false 5; _piece operand 0; _room_at_the_end drop-term 1 operand 0; cleaned drop 1
    """,
    "fuse_dialect.loops.window_schedule": "_whole_windows drop 0",
    "fuse_dialect.loops.windowing": """
        _inside drop 0; _interval operand 9 17; _truth false 2; with_packed_constants drop-term 2
    """,
    "fuse_dialect.targets.onnx.body": "BodyWriter._limit branch 3; BodyWriter.write drop-term 1 2",
    "fuse_dialect.targets.onnx.element_types": "opset_for argument 3",
    "fuse_dialect.targets.onnx.graph": "GraphWriter._emit_wide branch 3; GraphWriter.emit_all drop-term 0",
    "fuse_dialect.targets.onnx.operators.elementwise": "write_floor_divide branch 0; write_mod argument 40",
    "fuse_dialect.targets.onnx.operators.indexing": """
        backward_end argument 21; write_pad branch 1; write_strided_slice drop-term 3; write_take drop 5
    """,
    "fuse_dialect.targets.onnx.operators.normalization": "_with_axis_at whole 0",
    "fuse_dialect.targets.onnx.operators.products": "_convolution argument 15",
    "fuse_dialect.targets.onnx.operators.reductions": """
        pool_windows drop 1 drop-term 2; write_reduction false 1; write_variance operand 0
    """,
    "fuse_dialect.targets.onnx.operators.shapes": "write_reshape true 2; write_resize2d drop-term 1 3",
    "fuse_dialect.templates.regions": "Held.of return-early 2; limits_bytes drop-term 2 4 negate 0",
    "fuse_dialect.transforms.bubble_up_slices": "_Block._ask drop 0 swap 1; _Block.narrow drop-term 1",
    "fuse_dialect.transforms.cut_splits": "_cut drop 2",
    "fuse_dialect.transforms.eliminate_common_subexpr": """
        EliminateCommonSubexprPass.apply branch 1; _Scope.close drop 0; _key false 0 true 0
    """,
    "fuse_dialect.transforms.fold_constants": """
        _Folding._is_awaited false 0; _Folding._results argument 12 true 4; _Folding.visit drop-term 1
    """,
    "fuse_dialect.transforms.layouts.axis_groups": "axis_groups false 2",
    "fuse_dialect.transforms.layouts.permutations": "is_free drop-term 1",
    "fuse_dialect.transforms.layouts.rules": "_axis_and_batch branch 0; _reduction negate 0",
    "fuse_dialect.transforms.result_parts": "_pad drop-term 0 1; _reverse swap 2",
    "fuse_dialect.transforms.scale_folding.biases": "_with_term branch 1 false 3",
    "fuse_dialect.transforms.scale_folding.moves": """
        Way.with_scale branch 0 drop-term 5 6 operand 1; is_own drop-term 2
    """,
    "fuse_dialect.transforms.scale_folding.rules": "Passing.admits true 1",
    "fuse_dialect.transforms.scale_folding.scale": "_scale_of operand 0; along_one_axis argument 3 true 1",
    "fuse_dialect.transforms.simplify_inference": """
        _expand branch 2; _folded_scale_and_shift false 3; _group_norm false 0
    """,
    "fuse_dialect.transforms.unfinished": "<module> drop-element 1",
}
"""Each is a change of behaviour that a user could notice, and that a test must notice."""
WHOLE: tuple[str, ...] = tuple(f"fuse_dialect.loops.{name}" for name in ("law", "bounds", "pairs", "joins"))
"""Modules all of whose functions are changed wherever one of `rules.WHOLE_MODULES` finds a place."""
EQUIVALENT: Mapping[str, str] = {
    "fuse_dialect.loops.bounds:common_rows swap 0": "sizes are compared for equality, which has no order",
    "fuse_dialect.loops.bounds:keeps_axes bound 0": "both products differ, or the loop has ended",
    "fuse_dialect.loops.pairs:Pair.singles false 0": "the pair of the only value is the pair",
    "fuse_dialect.loops.pairs:are_alike swap 0": "accesses are compared for equality, which has no order",
    "fuse_dialect.loops.pairs:is_worth_repeating false 0": "saves counting places: of no work any number is cheap",
    "fuse_dialect.loops.pairs:is_worth_repeating swap 1": "of work that is some, either is to be one at most",
    "fuse_dialect.loops.pairs:shared_rows swap 0": "common rows are those of either with the other",
    "fuse_dialect.loops.pairs:may_run_in_strips swap 0": "a set of loops, in any order",
    "fuse_dialect.loops.joins:joined swap 2": "a set of loops, in any order",
    "fuse_dialect.loops.indices:remainder operand 4": "where all loops are 0 the rest is at least 0 and less than the "
    "divisor, so that its base is 0",
    "fuse_dialect.fusion.core.limits:_least_nodes_between other-name 0": "a lower bound that saves counting: a lesser "
    "one gives the same answers later",
}
"""Mutants that no test can notice, and why; they must survive, and count for nothing."""

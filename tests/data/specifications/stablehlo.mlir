// Every op of StableHLO and of CHLO as MLIR prints it, but stablehlo.collective_reduce, which is too new for JAX, and
// chlo.ragged_dot and chlo.scan.
func.func @unary(%x: tensor<4xf32>, %n: tensor<4xi32>, %c: tensor<4xcomplex<f32>>, %b: tensor<4xi1>) {
  %v1 = stablehlo.abs %x : tensor<4xf32>
  %v2 = stablehlo.cbrt %x : tensor<4xf32>
  %v3 = stablehlo.ceil %x : tensor<4xf32>
  %v4 = stablehlo.cosine %x : tensor<4xf32>
  %v5 = stablehlo.exponential %x : tensor<4xf32>
  %v6 = stablehlo.exponential_minus_one %x : tensor<4xf32>
  %v7 = stablehlo.floor %x : tensor<4xf32>
  %v8 = stablehlo.log %x : tensor<4xf32>
  %v9 = stablehlo.log_plus_one %x : tensor<4xf32>
  %v10 = stablehlo.logistic %x : tensor<4xf32>
  %v11 = stablehlo.negate %x : tensor<4xf32>
  %v12 = stablehlo.round_nearest_afz %x : tensor<4xf32>
  %v13 = stablehlo.round_nearest_even %x : tensor<4xf32>
  %v14 = stablehlo.rsqrt %x : tensor<4xf32>
  %v15 = stablehlo.sign %x : tensor<4xf32>
  %v16 = stablehlo.sine %x : tensor<4xf32>
  %v17 = stablehlo.sqrt %x : tensor<4xf32>
  %v18 = stablehlo.tan %x : tensor<4xf32>
  %v19 = stablehlo.tanh %x : tensor<4xf32>
  %v20 = stablehlo.abs %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %v21 = stablehlo.real %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %v22 = stablehlo.imag %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %v23 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %v24 = stablehlo.count_leading_zeros %n : tensor<4xi32>
  %v25 = stablehlo.popcnt %n : tensor<4xi32>
  %v26 = stablehlo.not %b : tensor<4xi1>
  %v27 = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  %v28 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %v29 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>
  %v30 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %v31 = stablehlo.tanh %x {mhlo.note = "kept"} : tensor<4xf32>
  return
}
func.func @quantized(%x: tensor<4xf32>) {
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 2.000000e+00:15>>
  %r = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<4xf32>
  %s = stablehlo.constant() <{value = dense<[1, 2, 3, 4]> : tensor<4xi8>}> : () -> tensor<4x!quant.uniform<i8:f32, 2.000000e+00:15>>
  return
}
func.func @binary(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<4xi32>, %m: tensor<4xi32>, %b: tensor<4xi1>, %s: tensor<f32>, %d: tensor<?xf32>) {
  %v32 = stablehlo.add %x, %y : tensor<4xf32>
  %v33 = stablehlo.atan2 %x, %y : tensor<4xf32>
  %v34 = stablehlo.divide %x, %y : tensor<4xf32>
  %v35 = stablehlo.maximum %x, %y : tensor<4xf32>
  %v36 = stablehlo.minimum %x, %y : tensor<4xf32>
  %v37 = stablehlo.multiply %x, %y : tensor<4xf32>
  %v38 = stablehlo.power %x, %y : tensor<4xf32>
  %v39 = stablehlo.remainder %x, %y : tensor<4xf32>
  %v40 = stablehlo.subtract %x, %y : tensor<4xf32>
  %v41 = stablehlo.and %n, %m : tensor<4xi32>
  %v42 = stablehlo.or %n, %m : tensor<4xi32>
  %v43 = stablehlo.xor %n, %m : tensor<4xi32>
  %v44 = stablehlo.shift_left %n, %m : tensor<4xi32>
  %v45 = stablehlo.shift_right_arithmetic %n, %m : tensor<4xi32>
  %v46 = stablehlo.shift_right_logical %n, %m : tensor<4xi32>
  %v47 = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %v48 = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %v49 = stablehlo.compare GE, %x, %y, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %v50 = stablehlo.select %b, %x, %y : tensor<4xi1>, tensor<4xf32>
  %v51 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v52 = stablehlo.clamp %x, %y, %x : tensor<4xf32>
  %v53 = stablehlo.add %x, %d : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}
func.func @shapes(%x: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i32>, %d: tensor<?x3xf32>, %z: tensor<2xi32>, %u: tensor<1x1xf32>) {
  %v1 = stablehlo.constant dense<[-1, 2]> : tensor<2xi64>
  %v2 = stablehlo.constant {note} dense<0xFF800000> : tensor<f32>
  %v3 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %v4 = stablehlo.dynamic_iota %z, dim = 0 : (tensor<2xi32>) -> tensor<?x3xi32>
  %v5 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %v6 = stablehlo.broadcast %s, sizes = [4] : (tensor<f32>) -> tensor<4xf32>
  %v7 = stablehlo.dynamic_broadcast_in_dim %s, %z, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %v8 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %v9 = stablehlo.dynamic_reshape %x, %z : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %v10 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %v11 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %v12 = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %v13 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %v14 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %v15 = stablehlo.real_dynamic_slice %x, %z, %z, %z : (tensor<2x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %v16 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %v17 = stablehlo.pad %x, %s, low = [1, -1], high = [0, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x2xf32>
  %v18 = stablehlo.dynamic_pad %x, %s, %z, %z, %z : (tensor<2x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %v19 = stablehlo.get_dimension_size %d, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %v20 = stablehlo.set_dimension_size %x, %i, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  %v21 = stablehlo.tuple %x, %s : tuple<tensor<2x3xf32>, tensor<f32>>
  %v22 = stablehlo.get_tuple_element %v21[1] : (tuple<tensor<2x3xf32>, tensor<f32>>) -> tensor<f32>
  return
}
func.func @linear_algebra(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>, %a: tensor<3x3xf32>, %i: tensor<1x8x8x3xf32>, %w: tensor<3x3x3x4xf32>, %p: tensor<2x2xi32>, %c: tensor<16xcomplex<f32>>) {
  %v1 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %v2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v3 = stablehlo.dot %a, %a, precision = [DEFAULT, DEFAULT] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v4 = stablehlo.dot %a, %a : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v5 = stablehlo.einsum %a, %a, config = "ab,bc->ac" : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v6 = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<3x3xf32>) -> tensor<3xf32>
  %v7 = stablehlo.convolution(%i, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>
  %v8 = stablehlo.convolution(%i, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  %v9 = "stablehlo.dynamic_conv"(%i, %w, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi32>) -> tensor<1x?x?x4xf32>
  %v10 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  %v11 = stablehlo.cholesky %a : tensor<3x3xf32>
  %v12 = "stablehlo.triangular_solve"(%a, %a) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %v13 = stablehlo.fft %c, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  return
}
func.func @normalizations(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  %v1 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %v2, %v3, %v4 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %v5, %v6, %v7 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
func.func @indexing(%x: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>, %z: tensor<2xi32>, %j: tensor<2xi32>) {
  %v1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  %v2 = "stablehlo.dynamic_gather"(%x, %i, %z) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x?xf32>
  %v3 = "stablehlo.torch_index_select"(%x, %j) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %v4 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}
func.func @regions(%x: tensor<4x4xf32>, %s: tensor<f32>, %n: tensor<4x4xi32>, %k: tensor<i32>, %b: tensor<i1>, %u: tensor<2x2xf32>) {
  %v1 = stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  %v2, %v3 = stablehlo.reduce(%x init: %s), (%n init: %k) across dimensions = [0] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %t: tensor<i32>)  {
    stablehlo.return %p, %t : tensor<f32>, tensor<i32>
  }
  %v4 = "stablehlo.reduce_window"(%x, %s) <{base_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
  %v5 = "stablehlo.select_and_scatter"(%x, %u, %s) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %v6 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v7 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v8 = "stablehlo.if"(%b) ({
    stablehlo.return %s : tensor<f32>
  }, {
    stablehlo.return %s : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %v9 = "stablehlo.case"(%k) ({
    stablehlo.return %s : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  %v10, %v11 = stablehlo.while(%p = %k, %q = %s) : tensor<i32>, tensor<f32> attributes {note}
  cond {
    %t = stablehlo.compare LT, %p, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    stablehlo.return %p, %q : tensor<i32>, tensor<f32>
  }
  stablehlo.optimization_barrier()
  %v12, %v13 = stablehlo.optimization_barrier %s, %k : tensor<f32>, tensor<i32>
  return
}
func.func @devices(%x: tensor<4x4xf32>, %s: tensor<f32>, %g: tensor<ui64>, %h: tensor<2xui64>, %z: tensor<2xi64>) {
  %v1 = stablehlo.replica_id : tensor<ui32>
  %v2 = stablehlo.partition_id : tensor<ui32>
  %v3 = stablehlo.create_token : !stablehlo.token
  %v4 = stablehlo.after_all %v3, %v3 : !stablehlo.token
  %v5 = stablehlo.after_all : !stablehlo.token
  %v6 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v7 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v8 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v9 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v10 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v11 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v12 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v13, %v14 = "stablehlo.infeed"(%v3) <{infeed_config = "", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  %v15 = "stablehlo.outfeed"(%x, %v3) <{outfeed_config = ""}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  %v16 = "stablehlo.send"(%x, %v3) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>, is_host_transfer = true}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  %v17, %v18 = "stablehlo.recv"(%v3) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  %v19 = stablehlo.rng %s, %s, %z, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
  %v20, %v21 = stablehlo.rng_bit_generator %h, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %v22 = stablehlo.custom_call @Sharding(%x) {api_version = 1 : i32, mhlo.sharding = "{replicated}", operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v23 = stablehlo.custom_call @with_alias(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v24 = stablehlo.composite "my.op" %x {composite_attributes = {k = 1 : i64}, decomposition = @decomposition, version = 1 : i32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %v25 = "stablehlo.async_start"(%x) ({
  ^bb0(%p: tensor<4x4xf32>):
    %t = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %t : tensor<4x4xf32>
  }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  %v26 = "stablehlo.async_done"(%v25) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
  return
}
func.func private @decomposition(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}
func.func @chlo(%x: tensor<4xf32>, %n: tensor<4xi32>, %c: tensor<4xcomplex<f32>>, %b: tensor<i1>, %s: tensor<f32>) {
  %v1 = chlo._asin_acos_kernel %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %v2 = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  %v3 = chlo.acosh %x : tensor<4xf32> -> tensor<4xf32>
  %v4 = chlo.asin %x : tensor<4xf32> -> tensor<4xf32>
  %v5 = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  %v6 = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>
  %v7 = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  %v8 = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>
  %v9 = chlo.conj %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %v10 = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  %v11 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  %v12 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %v13 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  %v14 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  %v15 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  %v16 = chlo.sinh %x : tensor<4xf32> -> tensor<4xf32>
  %v17 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  %v18 = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  %v19 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  %v20 = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  %v21 = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  %v22 = chlo.next_after %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %v23 = chlo.polygamma %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %v24 = chlo.zeta %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %v25 = chlo.mulhi %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %v26 = chlo.broadcast_add %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v27 = chlo.broadcast_atan2 %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v28 = chlo.broadcast_divide %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v29 = chlo.broadcast_maximum %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v30 = chlo.broadcast_minimum %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v31 = chlo.broadcast_multiply %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v32 = chlo.broadcast_next_after %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v33 = chlo.broadcast_polygamma %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v34 = chlo.broadcast_power %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v35 = chlo.broadcast_remainder %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v36 = chlo.broadcast_subtract %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v37 = chlo.broadcast_zeta %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v38 = chlo.broadcast_and %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v39 = chlo.broadcast_or %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v40 = chlo.broadcast_xor %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v41 = chlo.broadcast_shift_left %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v42 = chlo.broadcast_shift_right_arithmetic %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v43 = chlo.broadcast_shift_right_logical %n, %n : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %v44 = chlo.broadcast_complex %x, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xcomplex<f32>>
  %v45 = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %v46 = chlo.broadcast_select %b, %x, %s : (tensor<i1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v47 = chlo.constant dense<1.000000e+00> : tensor<4xf32>
  %v48 = "chlo.constant_like"(%x) <{value = 1.000000e+00 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %k1, %k2 = chlo.top_k(%x, k = 3) : tensor<4xf32> -> (tensor<3xf32>, tensor<3xi32>)
  return
}

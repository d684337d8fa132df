module @jit_elementwise attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<4xui32>) -> (tensor<4x8xf32> {jax.result_info = "result[0]"}, tensor<4xui32> {jax.result_info = "result[1]"}, tensor<4x8xf32> {jax.result_info = "result[2]"}, tensor<4x8xf32> {jax.result_info = "result[3]"}, tensor<4x8xui32> {jax.result_info = "result[4]"}) {
    %0 = chlo.erf_inv %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %2 = stablehlo.atan2 %arg0, %1 : tensor<4x8xf32>
    %3 = stablehlo.add %0, %2 : tensor<4x8xf32>
    %cst_0 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %5 = stablehlo.add %arg0, %4 : tensor<4x8xf32>
    %6 = chlo.lgamma %5 : tensor<4x8xf32> -> tensor<4x8xf32>
    %7 = stablehlo.add %3, %6 : tensor<4x8xf32>
    %8 = stablehlo.cbrt %arg0 : tensor<4x8xf32>
    %9 = stablehlo.add %7, %8 : tensor<4x8xf32>
    %10 = stablehlo.exponential_minus_one %arg0 : tensor<4x8xf32>
    %11 = stablehlo.add %9, %10 : tensor<4x8xf32>
    %12 = chlo.sinh %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %13 = stablehlo.add %11, %12 : tensor<4x8xf32>
    %14 = stablehlo.popcnt %arg1 : tensor<4xui32>
    %c = stablehlo.constant dense<2> : tensor<ui32>
    %15 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui32>) -> tensor<4xui32>
    %16 = stablehlo.shift_left %arg1, %15 : tensor<4xui32>
    %17 = stablehlo.xor %14, %16 : tensor<4xui32>
    %c_1 = stablehlo.constant dense<1> : tensor<ui32>
    %18 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<4xui32>
    %19 = stablehlo.shift_right_logical %arg1, %18 : tensor<4xui32>
    %20 = stablehlo.or %17, %19 : tensor<4xui32>
    %cst_2 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %22 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %23 = stablehlo.clamp %21, %arg0, %22 : tensor<4x8xf32>
    %24 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4x8xf32>
    %25 = stablehlo.bitcast_convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xui32>
    return %13, %20, %23, %24, %25 : tensor<4x8xf32>, tensor<4xui32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xui32>
  }
}

module @jit_adam_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x4xf32>, %arg1: tensor<16x4xf32>, %arg2: tensor<16x4xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<8x4xf32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<16x4xf32> {jax.result_info = "result[1]"}, tensor<16x4xf32> {jax.result_info = "result[2]"}, tensor<16x4xf32> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.dot_general %arg3, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<8x4xf32>
    %4 = stablehlo.subtract %1, %arg4 : tensor<8x4xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<8x4xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %7 = stablehlo.multiply %6, %4 : tensor<8x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%5 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %9 = stablehlo.divide %8, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %10 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %12 = stablehlo.multiply %11, %7 : tensor<8x4xf32>
    %13 = stablehlo.multiply %12, %3 : tensor<8x4xf32>
    %14 = stablehlo.multiply %13, %1 : tensor<8x4xf32>
    %15 = stablehlo.add %13, %14 : tensor<8x4xf32>
    %16 = stablehlo.dot_general %15, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %17 = stablehlo.transpose %16, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
    %cst_5 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %19 = stablehlo.multiply %18, %arg1 : tensor<16x4xf32>
    %cst_6 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %21 = stablehlo.multiply %20, %17 : tensor<16x4xf32>
    %22 = stablehlo.add %19, %21 : tensor<16x4xf32>
    %cst_7 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %24 = stablehlo.multiply %23, %arg2 : tensor<16x4xf32>
    %cst_8 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %26 = stablehlo.multiply %25, %17 : tensor<16x4xf32>
    %27 = stablehlo.multiply %26, %17 : tensor<16x4xf32>
    %28 = stablehlo.add %24, %27 : tensor<16x4xf32>
    %cst_9 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %30 = stablehlo.multiply %29, %22 : tensor<16x4xf32>
    %31 = stablehlo.sqrt %28 : tensor<16x4xf32>
    %cst_10 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x4xf32>
    %33 = stablehlo.add %31, %32 : tensor<16x4xf32>
    %34 = stablehlo.divide %30, %33 : tensor<16x4xf32>
    %35 = stablehlo.subtract %arg0, %34 : tensor<16x4xf32>
    return %9, %35, %22, %28 : tensor<f32>, tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
  }
}

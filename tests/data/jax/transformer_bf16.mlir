module @jit_transformer attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x16xbf16>, %arg1: tensor<16x16xbf16>, %arg2: tensor<16x16xbf16>, %arg3: tensor<16x16xbf16>, %arg4: tensor<16x16xbf16>, %arg5: tensor<16x32xbf16>, %arg6: tensor<32x16xbf16>, %arg7: tensor<16xbf16>) -> (tensor<2x8x16xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<2x8x16xbf16>) -> tensor<2x8x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
    %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x8x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x8x1xf32>
    %5 = stablehlo.convert %4 : (tensor<2x8x1xf32>) -> tensor<2x8x1xbf16>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x8x1xbf16>) -> tensor<2x8x16xbf16>
    %7 = stablehlo.subtract %arg0, %6 : tensor<2x8x16xbf16>
    %8 = stablehlo.multiply %7, %7 : tensor<2x8x16xbf16>
    %9 = stablehlo.convert %8 : (tensor<2x8x16xbf16>) -> tensor<2x8x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
    %cst_2 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<2x8x1xf32>
    %14 = stablehlo.convert %13 : (tensor<2x8x1xf32>) -> tensor<2x8x1xbf16>
    %cst_3 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<2x8x1xbf16>
    %16 = stablehlo.add %14, %15 : tensor<2x8x1xbf16>
    %17 = stablehlo.rsqrt %16 : tensor<2x8x1xbf16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x8x1xbf16>) -> tensor<2x8x16xbf16>
    %19 = stablehlo.multiply %7, %18 : tensor<2x8x16xbf16>
    %20 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<16xbf16>) -> tensor<1x1x16xbf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x16xbf16>) -> tensor<2x8x16xbf16>
    %22 = stablehlo.multiply %19, %21 : tensor<2x8x16xbf16>
    %23 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<16xbf16>) -> tensor<1x1x16xbf16>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x16xbf16>) -> tensor<2x8x16xbf16>
    %25 = stablehlo.add %22, %24 : tensor<2x8x16xbf16>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %26 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %27 = call @tril(%26) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %28 = stablehlo.dot_general %25, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    %29 = stablehlo.reshape %28 : (tensor<2x8x16xbf16>) -> tensor<2x8x2x8xbf16>
    %30 = stablehlo.transpose %29, dims = [0, 2, 1, 3] : (tensor<2x8x2x8xbf16>) -> tensor<2x2x8x8xbf16>
    %31 = stablehlo.dot_general %25, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    %32 = stablehlo.reshape %31 : (tensor<2x8x16xbf16>) -> tensor<2x8x2x8xbf16>
    %33 = stablehlo.transpose %32, dims = [0, 2, 1, 3] : (tensor<2x8x2x8xbf16>) -> tensor<2x2x8x8xbf16>
    %34 = stablehlo.dot_general %25, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    %35 = stablehlo.reshape %34 : (tensor<2x8x16xbf16>) -> tensor<2x8x2x8xbf16>
    %36 = stablehlo.transpose %35, dims = [0, 2, 1, 3] : (tensor<2x8x2x8xbf16>) -> tensor<2x2x8x8xbf16>
    %37 = stablehlo.dot_general %30, %33, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x8xbf16>, tensor<2x2x8x8xbf16>) -> tensor<2x2x8x8xbf16>
    %cst_4 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %38 = stablehlo.sqrt %cst_4 : tensor<f32>
    %39 = stablehlo.convert %38 : (tensor<f32>) -> tensor<bf16>
    %40 = stablehlo.broadcast_in_dim %39, dims = [] : (tensor<bf16>) -> tensor<2x2x8x8xbf16>
    %41 = stablehlo.divide %37, %40 : tensor<2x2x8x8xbf16>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %42 = call @_where(%27, %41, %cst_5) : (tensor<8x8xi1>, tensor<2x2x8x8xbf16>, tensor<f32>) -> tensor<2x2x8x8xbf16>
    %cst_6 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %43 = stablehlo.reduce(%42 init: %cst_6) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x8x8xbf16>, tensor<bf16>) -> tensor<2x2x8xbf16>
    %cst_7 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %44 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<bf16>) -> tensor<2x2x8xbf16>
    %45 = stablehlo.maximum %44, %43 : tensor<2x2x8xbf16>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2] : (tensor<2x2x8xbf16>) -> tensor<2x2x8x1xbf16>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2, 3] : (tensor<2x2x8x1xbf16>) -> tensor<2x2x8x8xbf16>
    %48 = stablehlo.subtract %42, %47 : tensor<2x2x8x8xbf16>
    %49 = stablehlo.exponential %48 : tensor<2x2x8x8xbf16>
    %50 = stablehlo.convert %49 : (tensor<2x2x8x8xbf16>) -> tensor<2x2x8x8xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x2x8x8xf32>, tensor<f32>) -> tensor<2x2x8xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<2x2x8xf32>) -> tensor<2x2x8x1xf32>
    %53 = stablehlo.convert %52 : (tensor<2x2x8x1xf32>) -> tensor<2x2x8x1xbf16>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<2x2x8x1xbf16>) -> tensor<2x2x8x8xbf16>
    %55 = stablehlo.divide %49, %54 : tensor<2x2x8x8xbf16>
    %56 = stablehlo.dot_general %55, %36, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x8x8xbf16>, tensor<2x2x8x8xbf16>) -> tensor<2x2x8x8xbf16>
    %57 = stablehlo.transpose %56, dims = [0, 2, 1, 3] : (tensor<2x2x8x8xbf16>) -> tensor<2x8x2x8xbf16>
    %58 = stablehlo.reshape %57 : (tensor<2x8x2x8xbf16>) -> tensor<2x8x16xbf16>
    %59 = stablehlo.dot_general %58, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xbf16>, tensor<16x16xbf16>) -> tensor<2x8x16xbf16>
    %60 = stablehlo.add %arg0, %59 : tensor<2x8x16xbf16>
    %61 = stablehlo.convert %60 : (tensor<2x8x16xbf16>) -> tensor<2x8x16xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %62 = stablehlo.reduce(%61 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
    %cst_10 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x8x1xf32>
    %65 = stablehlo.divide %63, %64 : tensor<2x8x1xf32>
    %66 = stablehlo.convert %65 : (tensor<2x8x1xf32>) -> tensor<2x8x1xbf16>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<2x8x1xbf16>) -> tensor<2x8x16xbf16>
    %68 = stablehlo.subtract %60, %67 : tensor<2x8x16xbf16>
    %69 = stablehlo.multiply %68, %68 : tensor<2x8x16xbf16>
    %70 = stablehlo.convert %69 : (tensor<2x8x16xbf16>) -> tensor<2x8x16xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.reduce(%70 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<2x8x16xf32>, tensor<f32>) -> tensor<2x8xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x1xf32>
    %cst_12 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x8x1xf32>
    %74 = stablehlo.divide %72, %73 : tensor<2x8x1xf32>
    %75 = stablehlo.convert %74 : (tensor<2x8x1xf32>) -> tensor<2x8x1xbf16>
    %cst_13 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %76 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<bf16>) -> tensor<2x8x1xbf16>
    %77 = stablehlo.add %75, %76 : tensor<2x8x1xbf16>
    %78 = stablehlo.rsqrt %77 : tensor<2x8x1xbf16>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<2x8x1xbf16>) -> tensor<2x8x16xbf16>
    %80 = stablehlo.multiply %68, %79 : tensor<2x8x16xbf16>
    %81 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<16xbf16>) -> tensor<1x1x16xbf16>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0, 1, 2] : (tensor<1x1x16xbf16>) -> tensor<2x8x16xbf16>
    %83 = stablehlo.multiply %80, %82 : tensor<2x8x16xbf16>
    %84 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<16xbf16>) -> tensor<1x1x16xbf16>
    %85 = stablehlo.broadcast_in_dim %84, dims = [0, 1, 2] : (tensor<1x1x16xbf16>) -> tensor<2x8x16xbf16>
    %86 = stablehlo.add %83, %85 : tensor<2x8x16xbf16>
    %87 = stablehlo.dot_general %86, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x16xbf16>, tensor<16x32xbf16>) -> tensor<2x8x32xbf16>
    %88 = stablehlo.multiply %87, %87 : tensor<2x8x32xbf16>
    %89 = stablehlo.multiply %88, %87 : tensor<2x8x32xbf16>
    %cst_14 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %90 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<bf16>) -> tensor<2x8x32xbf16>
    %91 = stablehlo.multiply %90, %89 : tensor<2x8x32xbf16>
    %92 = stablehlo.add %87, %91 : tensor<2x8x32xbf16>
    %cst_15 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %93 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<bf16>) -> tensor<2x8x32xbf16>
    %94 = stablehlo.multiply %93, %92 : tensor<2x8x32xbf16>
    %95 = stablehlo.tanh %94 : tensor<2x8x32xbf16>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %96 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<bf16>) -> tensor<2x8x32xbf16>
    %97 = stablehlo.add %96, %95 : tensor<2x8x32xbf16>
    %cst_17 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %98 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<bf16>) -> tensor<2x8x32xbf16>
    %99 = stablehlo.multiply %98, %97 : tensor<2x8x32xbf16>
    %100 = stablehlo.multiply %87, %99 : tensor<2x8x32xbf16>
    %101 = stablehlo.dot_general %100, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8x32xbf16>, tensor<32x16xbf16>) -> tensor<2x8x16xbf16>
    %102 = stablehlo.add %60, %101 : tensor<2x8x16xbf16>
    return %102 : tensor<2x8x16xbf16>
  }
  func.func private @tril(%arg0: tensor<8x8xi1>) -> tensor<8x8xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xi1>
    return %6 : tensor<8x8xi1>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<2x2x8x8xbf16>, %arg2: tensor<f32>) -> tensor<2x2x8x8xbf16> {
    %0 = stablehlo.convert %arg2 : (tensor<f32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<2x2x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<2x2x8x8xbf16>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x8x8xi1>, tensor<2x2x8x8xbf16>
    return %3 : tensor<2x2x8x8xbf16>
  }
}

module @jit_numbers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xcomplex<f32>>) -> (tensor<4x8xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<4x8xf32> {jax.result_info = "result[1]"}, tensor<4x8xf16> {jax.result_info = "result[2]"}, tensor<4x8xi8> {jax.result_info = "result[3]"}, tensor<4x8xi1> {jax.result_info = "result[4]"}, tensor<4xi32> {jax.result_info = "result[5]"}) {
    %0 = stablehlo.complex %arg0, %arg0 : tensor<4x8xcomplex<f32>>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4x8xcomplex<f32>>
    %2 = call @fft(%1) : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    %3 = stablehlo.real %1 : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xf32>
    %4 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf16>
    %5 = stablehlo.convert %arg0 : (tensor<4x8xf32>) -> tensor<4x8xi8>
    %6 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %7 = stablehlo.iota dim = 0 : tensor<4xi32>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %9 = stablehlo.add %7, %8 : tensor<4xi32>
    return %2, %3, %4, %5, %6, %9 : tensor<4x8xcomplex<f32>>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xi8>, tensor<4x8xi1>, tensor<4xi32>
  }
  func.func private @fft(%arg0: tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = FFT, length = [8] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
    return %0 : tensor<4x8xcomplex<f32>>
  }
}

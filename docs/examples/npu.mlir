// A layer in the dialect of an accelerator.
func.func @main(%x: tensor<16x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<32x16xf32> {
  %0 = "npu.matmul"(%x, %w) : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %1 = "npu.add"(%0, %b) : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %2 = "npu.gelu"(%1) : (tensor<16x32xf32>) -> tensor<16x32xf32>
  %3 = "npu.turn"(%2) : (tensor<16x32xf32>) -> tensor<32x16xf32>
  return %3 : tensor<32x16xf32>
}

// A layer as torch-mlir and IREE print it: a product that starts with zeros, a bias, and what a network does to the sum.
#row = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%start : tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %b : tensor<4x16xf32>, tensor<16xf32>) outs(%empty : tensor<4x16xf32>) {
  ^bb0(%one: f32, %bias: f32, %out: f32):
    %with_bias = arith.addf %one, %bias : f32
    %relu = arith.maximumf %with_bias, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

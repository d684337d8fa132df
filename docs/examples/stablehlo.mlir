// StableHLO, as JAX prints it: a matrix product with its epilogue.
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %sum = stablehlo.add %dot, %b : tensor<8x32xf32>
  %act = stablehlo.tanh %sum : tensor<8x32xf32>
  return %act : tensor<8x32xf32>
}

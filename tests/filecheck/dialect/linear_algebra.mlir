// RUN: FUSE_ROUNDTRIP

// A label that the result has not is summed over; `...` broadcasts.
// CHECK-LABEL: func.func @sums_follow_equations
func.func @sums_follow_equations(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %c: tensor<?x4xf32>, %s: tensor<3x3xf32>) {
  // CHECK: fuse.einsum %a, %b, equation = "bij,bjk->bik" : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %0 = fuse.einsum %a, %b, equation = "bij,bjk->bik" : (tensor<2x3x4xf32>, tensor<2x4x5xf32>)
  // CHECK: fuse.einsum %a, %c, equation = "...i,ki->...k" : (tensor<2x3x4xf32>, tensor<?x4xf32>) -> tensor<2x3x?xf32>
  %1 = fuse.einsum %a, %c, equation = "...i,ki->...k" : (tensor<2x3x4xf32>, tensor<?x4xf32>)
  // CHECK: fuse.einsum %s, equation = "ii->i" : (tensor<3x3xf32>) -> tensor<3xf32>
  %2 = fuse.einsum %s, equation = "ii->i" : (tensor<3x3xf32>)
  // CHECK: fuse.einsum %s, %s, %s, equation = "ij,jk,kl" : tensor<3x3xf32>
  %3 = fuse.einsum %s, %s, %s, equation = "ij,jk,kl" : (tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// Matrices stand in the last two axes.
// CHECK-LABEL: func.func @determinants_lose_two_axes
func.func @determinants_lose_two_axes(%a: tensor<?x3x3xf64>) {
  // CHECK: fuse.det %a : (tensor<?x3x3xf64>) -> tensor<?xf64>
  %0 = fuse.det %a : (tensor<?x3x3xf64>)
  return
}

// Nine blocks of four elements overlap in an image of 4x4.
// CHECK-LABEL: func.func @blocks_are_summed
func.func @blocks_are_summed(%a: tensor<1x8x9xf32>) {
  // CHECK: fuse.col2im %a, image_shape = [4, 4], block_shape = [2, 2], strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1] : (tensor<1x8x9xf32>) -> tensor<1x2x4x4xf32>
  %0 = fuse.col2im %a, image_shape = [4, 4], block_shape = [2, 2], strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1] : (tensor<1x8x9xf32>)
  return
}

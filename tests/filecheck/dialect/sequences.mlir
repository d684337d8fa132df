// RUN: FUSE_ROUNDTRIP

// Products run along lines, and sequences are as long as their lengths say.
// CHECK-LABEL: func.func @lines_are_multiplied_and_turned
func.func @lines_are_multiplied_and_turned(%a: tensor<?x4xf32>, %i: tensor<4xi32>, %n: tensor<?xi64>) {
  // CHECK: fuse.cumprod %a, axis = 1 : tensor<?x4xf32>
  %0 = fuse.cumprod %a, axis = 1 : tensor<?x4xf32>
  // CHECK: fuse.cumprod %i, axis = -1, exclusive = true, reverse = true : tensor<4xi32>
  %1 = fuse.cumprod %i, axis = -1, exclusive = true, reverse = true : tensor<4xi32>
  // CHECK: fuse.reverse_sequence %a, %n : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %2 = fuse.reverse_sequence %a, %n : (tensor<?x4xf32>, tensor<?xi64>)
  return
}

// Real and imaginary parts stand on the last axis.
// CHECK-LABEL: func.func @lines_are_transformed
func.func @lines_are_transformed(%a: tensor<2x8x1xf32>, %b: tensor<2x5x2xf32>, %c: tensor<?x?x2xf32>) {
  // CHECK: fuse.dft %a : (tensor<2x8x1xf32>) -> tensor<2x8x2xf32>
  %0 = fuse.dft %a : (tensor<2x8x1xf32>)
  // CHECK: fuse.dft %a, onesided = true : (tensor<2x8x1xf32>) -> tensor<2x5x2xf32>
  %1 = fuse.dft %a, onesided = true : (tensor<2x8x1xf32>)
  // CHECK: fuse.dft %b, inverse = true, onesided = true : (tensor<2x5x2xf32>) -> tensor<2x8x1xf32>
  %2 = fuse.dft %b, inverse = true, onesided = true : (tensor<2x5x2xf32>)
  // CHECK: fuse.dft %c, axis = 0, length = 16 : (tensor<?x?x2xf32>) -> tensor<16x?x2xf32>
  %3 = fuse.dft %c, axis = 0, length = 16 : (tensor<?x?x2xf32>)
  return
}

// RUN: FUSE_ROUNDTRIP

// All axes of the input but the last stay.
// CHECK-LABEL: func.func @dense_multiplies_by_the_transposed_weight
func.func @dense_multiplies_by_the_transposed_weight(%a: tensor<2x?x8xf32>, %w: tensor<4x8xf32>) {
  // CHECK: fuse.dense %a, %w : (tensor<2x?x8xf32>, tensor<4x8xf32>) -> tensor<2x?x4xf32>
  %0 = fuse.dense %a, %w : (tensor<2x?x8xf32>, tensor<4x8xf32>)
  return
}

// A flag is printed only where it is set.
// CHECK-LABEL: func.func @matrices_are_transposed_first
func.func @matrices_are_transposed_first(%a: tensor<2x8xf16>, %b: tensor<8x?xf16>, %s: tensor<4x4xf64>) {
  // CHECK: fuse.matmul %a, %b : (tensor<2x8xf16>, tensor<8x?xf16>) -> tensor<2x?xf16>
  %0 = fuse.matmul %a, %b : (tensor<2x8xf16>, tensor<8x?xf16>)
  // CHECK: fuse.matmul %b, %a, transpose_a = true, transpose_b = true : (tensor<8x?xf16>, tensor<2x8xf16>) -> tensor<?x2xf16>
  %1 = fuse.matmul %b, %a, transpose_a = true, transpose_b = true : (tensor<8x?xf16>, tensor<2x8xf16>)
  // CHECK: fuse.matmul %s, %s, transpose_b = true : tensor<4x4xf64>
  %2 = fuse.matmul %s, %s, transpose_a = false, transpose_b = true : tensor<4x4xf64>
  return
}

// A matrix is multiplied by each matrix of the other operand.
// CHECK-LABEL: func.func @leading_axes_broadcast
func.func @leading_axes_broadcast(%a: tensor<?x1x2x8xf32>, %b: tensor<3x8x4xf32>, %c: tensor<8x5xf32>) {
  // CHECK: fuse.batch_matmul %a, %b : (tensor<?x1x2x8xf32>, tensor<3x8x4xf32>) -> tensor<?x3x2x4xf32>
  %0 = fuse.batch_matmul %a, %b : (tensor<?x1x2x8xf32>, tensor<3x8x4xf32>)
  // CHECK: fuse.batch_matmul %b, %c, transpose_a = true : (tensor<3x8x4xf32>, tensor<8x5xf32>) -> tensor<3x4x5xf32>
  %1 = fuse.batch_matmul %b, %c, transpose_a = true : (tensor<3x8x4xf32>, tensor<8x5xf32>)
  return
}

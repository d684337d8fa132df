// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// Factors of a matrix that is not square.
// CHECK: 'fuse.cholesky' op expects equal sizes of the last two axes, got 2 and 3
func.func @f(%a: tensor<2x3xf32>) {
  %r = fuse.cholesky %a : (tensor<2x3xf32>)
  return
}

// -----

// Eigenvalues of one.
// CHECK: 'fuse.eigh' op expects equal sizes of the last two axes, got 2 and 3
func.func @f(%a: tensor<2x3xf32>) {
  %r:2 = fuse.eigh %a : (tensor<2x3xf32>)
  return
}

// -----

// Elements that no library factors.
// CHECK: 'fuse.lu' op expects f32 or f64 elements, got f16
func.func @f(%a: tensor<3x3xf16>) {
  %r:3 = fuse.lu %a : (tensor<3x3xf16>)
  return
}

// -----

// A vector is no matrix.
// CHECK: 'fuse.svd' op expects 'input' of rank 2 or more, got rank 1 (3)
func.func @f(%a: tensor<3xf32>) {
  %r:3 = fuse.svd %a : (tensor<3xf32>)
  return
}

// -----

// More reflections than columns.
// CHECK: 'fuse.householder_product' op expects no more scales than columns and no more columns than rows, got 4, 3 and 5
func.func @f(%a: tensor<5x3xf32>, %t: tensor<4xf32>) {
  %r = fuse.householder_product %a, %t : (tensor<5x3xf32>, tensor<4xf32>)
  return
}

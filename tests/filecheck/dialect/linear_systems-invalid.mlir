// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// A system with more unknowns than equations.
// CHECK: 'fuse.solve' op expects equal sizes of the last two axes of 'a', got 2 and 3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) {
  %r = fuse.solve %a, %b : (tensor<2x3xf32>, tensor<2x1xf32>)
  return
}

// -----

// Right-hand sides of another length.
// CHECK: 'fuse.solve' op expects equal sizes of the matrix and axis -2 of 'b', got 3 and 2
func.func @f(%a: tensor<3x3xf32>, %b: tensor<2x1xf32>) {
  %r = fuse.solve %a, %b : (tensor<3x3xf32>, tensor<2x1xf32>)
  return
}

// -----

// Batches that differ.
// CHECK: 'fuse.triangular_solve' op expects operands that agree, got 4 and 5 (dimension 0: 4 vs 5)
func.func @f(%a: tensor<4x3x3xf32>, %b: tensor<5x3x1xf32>) {
  %r = fuse.triangular_solve %a, %b : (tensor<4x3x3xf32>, tensor<5x3x1xf32>)
  return
}

// -----

// An inverse of integers.
// CHECK: 'fuse.inverse' op expects f32 or f64 elements, got i32
func.func @f(%a: tensor<3x3xi32>) {
  %r = fuse.inverse %a : tensor<3x3xi32>
  return
}

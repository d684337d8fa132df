// RUN: FUSE_ROUNDTRIP

// The solution is as large as the right-hand sides.
// CHECK-LABEL: func.func @solve
func.func @solve(%a: tensor<2x3x3xf32>, %b: tensor<?x3x4xf32>) {
  // CHECK: fuse.solve %a, %b : (tensor<2x3x3xf32>, tensor<?x3x4xf32>) -> tensor<2x3x4xf32>
  %0 = fuse.solve %a, %b : (tensor<2x3x3xf32>, tensor<?x3x4xf32>)
  return
}

// A triangle left and right of the unknown matrix.
// CHECK-LABEL: func.func @triangular_solve
func.func @triangular_solve(%a: tensor<3x3xf64>, %b: tensor<3x4xf64>, %c: tensor<4x3xf64>) {
  // CHECK: fuse.triangular_solve %a, %b : (tensor<3x3xf64>, tensor<3x4xf64>) -> tensor<3x4xf64>
  %0 = fuse.triangular_solve %a, %b : (tensor<3x3xf64>, tensor<3x4xf64>)
  // CHECK: fuse.triangular_solve %a, %c, left = false, lower = false, transpose = true, unit_diagonal = true
  %1 = fuse.triangular_solve %a, %c, left = false, lower = false, transpose = true, unit_diagonal = true
    : (tensor<3x3xf64>, tensor<4x3xf64>)
  return
}

// An inverse is as large as its matrix.
// CHECK-LABEL: func.func @inverse
func.func @inverse(%a: tensor<2x3x3xf32>) {
  // CHECK: fuse.inverse %a : tensor<2x3x3xf32>
  %0 = fuse.inverse %a : tensor<2x3x3xf32>
  return
}

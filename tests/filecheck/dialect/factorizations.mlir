// RUN: FUSE_ROUNDTRIP

// Factors of one triangle or the other.
// CHECK-LABEL: func.func @cholesky
func.func @cholesky(%a: tensor<?x3x3xf64>, %b: tensor<4x4xf32>) {
  // CHECK: fuse.cholesky %a : tensor<?x3x3xf64>
  %0 = fuse.cholesky %a : tensor<?x3x3xf64>
  // CHECK: fuse.cholesky %b, upper = true : tensor<4x4xf32>
  %1 = fuse.cholesky %b, upper = true : tensor<4x4xf32>
  return
}

// Both triangles in one matrix, swaps, and where rows came from.
// CHECK-LABEL: func.func @lu
func.func @lu(%a: tensor<2x3x5xf32>, %b: tensor<5x?xf64>) {
  // CHECK: fuse.lu %a : (tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xi32>)
  %0:3 = fuse.lu %a : (tensor<2x3x5xf32>)
  // CHECK: fuse.lu %b : (tensor<5x?xf64>) -> (tensor<5x?xf64>, tensor<?xi32>, tensor<5xi32>)
  %1:3 = fuse.lu %b : (tensor<5x?xf64>)
  return
}

// Reflections, and what they make of an identity.
// CHECK-LABEL: func.func @qr
func.func @qr(%a: tensor<5x3xf32>) {
  // CHECK: fuse.householder_qr %a : (tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  %0:2 = fuse.householder_qr %a : (tensor<5x3xf32>)
  // CHECK: fuse.householder_product %{{.*}}, %{{.*}} : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  %1 = fuse.householder_product %0#0, %0#1 : (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// Eigenvalues with and without vectors.
// CHECK-LABEL: func.func @eigenvalues
func.func @eigenvalues(%a: tensor<2x4x4xf32>) {
  // CHECK: fuse.eigh %a : (tensor<2x4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4x4xf32>)
  %0:2 = fuse.eigh %a : (tensor<2x4x4xf32>)
  // CHECK: fuse.eigvalsh %a, lower = false : (tensor<2x4x4xf32>) -> tensor<2x4xf32>
  %1 = fuse.eigvalsh %a, lower = false : (tensor<2x4x4xf32>)
  return
}

// Singular values with thin vectors, full ones, and without.
// CHECK-LABEL: func.func @singular_values
func.func @singular_values(%a: tensor<2x5x3xf32>) {
  // CHECK: fuse.svd %a : (tensor<2x5x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
  %0:3 = fuse.svd %a : (tensor<2x5x3xf32>)
  // CHECK: fuse.svd %a, full_matrices = true : (tensor<2x5x3xf32>) -> (tensor<2x5x5xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>)
  %1:3 = fuse.svd %a, full_matrices = true : (tensor<2x5x3xf32>)
  // CHECK: fuse.svdvals %a : (tensor<2x5x3xf32>) -> tensor<2x3xf32>
  %2 = fuse.svdvals %a : (tensor<2x5x3xf32>)
  return
}

// RUN: fuse-opt --cut-splits --split-input-file %s | filecheck %s

// Each piece that is read is a slice, whether its reader computes with it or with what a move makes of it.
// CHECK-LABEL: func.func @pieces
// CHECK-NEXT:    %p1 = fuse.strided_slice %x, begin = [1], end = [2], axes = [1] : (tensor<3x8xf32>) -> tensor<3x1xf32>
// CHECK-NEXT:    %p7 = fuse.strided_slice %x, begin = [7], end = [8], axes = [1] : (tensor<3x8xf32>) -> tensor<3x1xf32>
// CHECK-NEXT:    %a = fuse.exp %p1
// CHECK-NEXT:    %b = fuse.squeeze %p7
func.func @pieces(%x: tensor<3x8xf32>) -> tensor<3x3xf32> {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = -1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<3x8xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %a = fuse.exp %p1 : tensor<3x1xf32>
  %b = fuse.squeeze %p7, axes = [1] : (tensor<3x1xf32>) -> tensor<3xf32>
  %c = fuse.multiply %b, %a : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  return %c : tensor<3x3xf32>
}

// -----

// A piece that a product reads, or that is returned, is copied anyhow.
// CHECK-LABEL: func.func @product
// CHECK-NEXT:    fuse.split
func.func @product(%x: tensor<3x8xf32>) -> tensor<3x3xf32> {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = 1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<3x8xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %a = fuse.matmul %p1, %p2, transpose_b = true : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
  return %a : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func @returned
// CHECK-NEXT:    fuse.split
func.func @returned(%x: tensor<3x8xf32>) -> tensor<3x1xf32> {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = 1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<3x8xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %p3 : tensor<3x1xf32>
}

// -----

// Few pieces may be what the kernel before writes.
// CHECK-LABEL: func.func @few
// CHECK-NEXT:    fuse.split
func.func @few(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %a, %b = fuse.split %x, axis = 1, sizes = [4, 4] : (tensor<3x8xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %c = fuse.multiply %a, %b : tensor<3x4xf32>
  return %c : tensor<3x4xf32>
}

// -----

// Pieces of an open axis say how long it is.
// CHECK-LABEL: func.func @open
// CHECK-NEXT:    fuse.split
func.func @open(%x: tensor<3x?xf32>) -> tensor<3x1xf32> {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = 1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<3x?xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %a = fuse.exp %p3 : tensor<3x1xf32>
  return %a : tensor<3x1xf32>
}

// -----

// Other open axes do not matter.
// CHECK-LABEL: func.func @open_rows
// CHECK-NEXT:    fuse.strided_slice %x, begin = [3], end = [4], axes = [1] : (tensor<?x8xf32>) -> tensor<?x1xf32>
func.func @open_rows(%x: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = 1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<?x8xf32>) -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>)
  %a = fuse.exp %p3 : tensor<?x1xf32>
  return %a : tensor<?x1xf32>
}

// -----

// CHECK-LABEL: func.func @finished
// CHECK-NEXT:    fuse.split
func.func @finished(%x: tensor<3x8xf32>) -> tensor<3x1xf32> attributes {primitive} {
  %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7 = fuse.split %x, axis = 1, sizes = [1, 1, 1, 1, 1, 1, 1, 1] : (tensor<3x8xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %a = fuse.exp %p3 : tensor<3x1xf32>
  return %a : tensor<3x1xf32>
}

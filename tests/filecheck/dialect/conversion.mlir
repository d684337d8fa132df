// RUN: FUSE_ROUNDTRIP

// A cast spells its result type out.
// CHECK-LABEL: func.func @cast
func.func @cast(%x: tensor<4x?xf32>, %b: tensor<2xi1>, %u: tensor<ui64>) {
  // CHECK-NEXT: %half = fuse.cast %x : (tensor<4x?xf32>) -> tensor<4x?xf16>
  %half = fuse.cast %x : (tensor<4x?xf32>) -> tensor<4x?xf16>
  // CHECK-NEXT: %integer = fuse.cast %x : (tensor<4x?xf32>) -> tensor<4x3xi64>
  %integer = fuse.cast %x : (tensor<4x?xf32>) -> tensor<4x3xi64>
  // CHECK-NEXT: %same = fuse.cast %x : tensor<4x?xf32>
  %same = fuse.cast %x : tensor<4x?xf32>
  // CHECK-NEXT: %number = fuse.cast %b : (tensor<2xi1>) -> tensor<2xbf16>
  %number = fuse.cast %b : (tensor<2xi1>) -> tensor<2xbf16>
  // CHECK-NEXT: %signed = fuse.cast %u : (tensor<ui64>) -> tensor<i8>
  %signed = fuse.cast %u : (tensor<ui64>) -> tensor<i8>
  return
}

// A full tensor takes its shape from its result type.
// CHECK-LABEL: func.func @full
func.func @full(%f: tensor<f32>) {
  // CHECK-NEXT: %full = fuse.full %f : (tensor<f32>) -> tensor<2x3xf32>
  %full = fuse.full %f : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %scalar = fuse.full %f : tensor<f32>
  %scalar = fuse.full %f : tensor<f32>
  return
}

// Constants of the shape of another tensor.
// CHECK-LABEL: func.func @like
func.func @like(%x: tensor<?x3xi32>) {
  // CHECK-NEXT: %zeros = fuse.zeros_like %x : tensor<?x3xi32>
  %zeros = fuse.zeros_like %x : tensor<?x3xi32>
  // CHECK-NEXT: %ones = fuse.ones_like %x : tensor<?x3xi32>
  %ones = fuse.ones_like %x : tensor<?x3xi32>
  return
}

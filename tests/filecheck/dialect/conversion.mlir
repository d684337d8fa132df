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

// The bits of an element are read as another type of its size; types of less than a byte take one in memory.
// CHECK-LABEL: func.func @bits_are_reinterpreted
func.func @bits_are_reinterpreted(%x: tensor<?x3xf32>, %b: tensor<4xi1>) {
  // CHECK: fuse.bitcast %x : (tensor<?x3xf32>) -> tensor<?x3xi32>
  %bits = fuse.bitcast %x : (tensor<?x3xf32>) -> tensor<?x3xi32>
  // CHECK: fuse.bitcast %b : (tensor<4xi1>) -> tensor<4xui8>
  %bytes = fuse.bitcast %b : (tensor<4xi1>) -> tensor<4xui8>
  return
}

// Types of 8 bits and less hold numbers; ops convert from and to them.
// CHECK-LABEL: func.func @narrow_types_hold_numbers
func.func @narrow_types_hold_numbers(%x: tensor<?xf32>, %q: tensor<8xi4>, %u: tensor<8xui2>) {
  // CHECK: fuse.cast %x : (tensor<?xf32>) -> tensor<?xf8E4M3FN>
  %f8 = fuse.cast %x : (tensor<?xf32>) -> tensor<?xf8E4M3FN>
  // CHECK: fuse.cast %x : (tensor<?xf32>) -> tensor<?xf4E2M1FN>
  %f4 = fuse.cast %x : (tensor<?xf32>) -> tensor<?xf4E2M1FN>
  // CHECK: fuse.cast %q : (tensor<8xi4>) -> tensor<8xf32>
  %wide = fuse.cast %q : (tensor<8xi4>) -> tensor<8xf32>
  // CHECK: fuse.cast %u : (tensor<8xui2>) -> tensor<8xui8>
  %bytes = fuse.cast %u : (tensor<8xui2>) -> tensor<8xui8>
  return
}

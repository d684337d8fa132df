// RUN: fuse-opt %s --keep-blockwise-weights="least-bytes=0" | filecheck %s

// Integers in blocks, and a zero point for each: the formula of DequantizeLinear.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<3x32xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[Q:.*]] = arith.constant {{.*}} : tensor<2x32xi8>
  // CHECK-NEXT: %[[S:.*]] = arith.constant dense<{{\[}}[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
  // CHECK-NEXT: %[[Z:.*]] = arith.constant dense<{{\[}}[1.000000e+00, 0.000000e+00], [0.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
  // CHECK-NEXT: %y = fuse.blockwise_dense %x, %[[Q]], %[[S]], %[[Z]], bits = 4
  // CHECK-NEXT: return %y
  %q = arith.constant dense<"0x07070707070707070707070707070707F8F8F8F8F8F8F8F8F8F8F8F8F8F8F8F80102030405060701020304050607010201020304050607010203040506070102"> : tensor<2x2x16xi8>
  %s = arith.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %z = arith.constant dense<[[[1], [0]], [[0], [2]]]> : tensor<2x2x1xi8>
  %a = fuse.cast %q : (tensor<2x2x16xi8>) -> tensor<2x2x16xi32>
  %b = fuse.cast %z : (tensor<2x2x1xi8>) -> tensor<2x2x1xi32>
  %c = fuse.subtract %a, %b : (tensor<2x2x16xi32>, tensor<2x2x1xi32>) -> tensor<2x2x16xi32>
  %d = fuse.cast %c : (tensor<2x2x16xi32>) -> tensor<2x2x16xf32>
  %e = fuse.multiply %d, %s : (tensor<2x2x16xf32>, tensor<2x2x1xf32>) -> tensor<2x2x16xf32>
  %w = fuse.reshape %e : (tensor<2x2x16xf32>) -> tensor<2x32xf32>
  %y = fuse.dense %x, %w : (tensor<3x32xf32>, tensor<2x32xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// One scale for each column of a matrix, and the number on the left: blocks as long as the sum.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<3x16xf32>) -> tensor<3x2xf32> {
  // CHECK: %[[S:.*]] = arith.constant dense<{{\[}}[5.000000e-01], [2.500000e-01]]> : tensor<2x1xf32>
  // CHECK: fuse.blockwise_dense %x, {{.*}} : (tensor<3x16xf32>, tensor<2x16xi8>, tensor<2x1xf32>, tensor<f32>) -> tensor<3x2xf32>
  %q = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F20"> : tensor<16x2xi8>
  %s = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %a = fuse.cast %q : (tensor<16x2xi8>) -> tensor<16x2xf32>
  %w = fuse.multiply %s, %a : (tensor<2xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  %y = fuse.matmul %x, %w : (tensor<3x16xf32>, tensor<16x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// A scale for each row of a matrix differs along the sum: there are no blocks.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  // CHECK: fuse.matmul
  %q = arith.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi8>
  %s = arith.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %a = fuse.cast %q : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %w = fuse.multiply %a, %s : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %y = fuse.matmul %x, %w : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// An infinite scale is left to the formula.
// CHECK-LABEL: func.func @infinite
func.func @infinite(%x: tensor<3x16xf32>) -> tensor<3x1xf32> {
  // CHECK: fuse.matmul
  %q = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F10"> : tensor<16x1xi8>
  %s = arith.constant dense<0x7F800000> : tensor<f32>
  %a = fuse.cast %q : (tensor<16x1xi8>) -> tensor<16x1xf32>
  %w = fuse.multiply %a, %s : (tensor<16x1xf32>, tensor<f32>) -> tensor<16x1xf32>
  %y = fuse.matmul %x, %w : (tensor<3x16xf32>, tensor<16x1xf32>) -> tensor<3x1xf32>
  return %y : tensor<3x1xf32>
}

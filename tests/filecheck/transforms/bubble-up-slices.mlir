// RUN: fuse-opt %s --bubble-up-slices | filecheck %s

// The first token of a layer: products, the activation and the sum compute one row; operands are cut.
// CHECK-LABEL: func.func @first_token
// CHECK-NEXT: %0 = fuse.strided_slice %x, begin = [0, 0, 0], end = [2, 1, 32], axes = [0, 1, 2]
// CHECK-NEXT: %1 = fuse.dense %0, %w : (tensor<2x1x32xf32>, tensor<64x32xf32>) -> tensor<2x1x64xf32>
// CHECK-NEXT: %2 = fuse.gelu %1 : tensor<2x1x64xf32>
// CHECK-NEXT: %3 = fuse.dense %2, %v : (tensor<2x1x64xf32>, tensor<32x64xf32>) -> tensor<2x1x32xf32>
// CHECK-NEXT: %4 = fuse.add %3, %0 : tensor<2x1x32xf32>
// CHECK-NEXT: %i = arith.constant
// CHECK-NEXT: %5 = fuse.reshape %4 : (tensor<2x1x32xf32>) -> tensor<2x32xf32>
// CHECK-NEXT: func.return %5
func.func @first_token(%x: tensor<2x16x32xf32>, %w: tensor<64x32xf32>, %v: tensor<32x64xf32>) -> tensor<2x32xf32> {
  %0 = fuse.dense %x, %w : (tensor<2x16x32xf32>, tensor<64x32xf32>) -> tensor<2x16x64xf32>
  %1 = fuse.gelu %0 : tensor<2x16x64xf32>
  %2 = fuse.dense %1, %v : (tensor<2x16x64xf32>, tensor<32x64xf32>) -> tensor<2x16x32xf32>
  %3 = fuse.add %2, %x : tensor<2x16x32xf32>
  %i = arith.constant dense<0> : tensor<i64>
  %4 = fuse.take %3, %i, axis = 1 : (tensor<2x16x32xf32>, tensor<i64>) -> tensor<2x32xf32>
  func.return %4 : tensor<2x32xf32>
}

// Two readers: the smallest part that holds what both read, and each cuts its own from that.
// CHECK-LABEL: func.func @two_readers
// CHECK: %1 = fuse.dense %0, %w : (tensor<3x32xf32>, tensor<64x32xf32>) -> tensor<3x64xf32>
// CHECK-NEXT: fuse.strided_slice %1, begin = [0, 0], end = [1, 64]
// CHECK-NEXT: fuse.strided_slice %1, begin = [2, 0], end = [3, 64]
func.func @two_readers(%x: tensor<16x32xf32>, %w: tensor<64x32xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>) {
  %0 = fuse.dense %x, %w : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
  %1 = fuse.strided_slice %0, begin = [4], end = [5], axes = [0] : (tensor<16x64xf32>) -> tensor<1x64xf32>
  %2 = fuse.strided_slice %0, begin = [6], end = [7], axes = [0] : (tensor<16x64xf32>) -> tensor<1x64xf32>
  func.return %1, %2 : tensor<1x64xf32>, tensor<1x64xf32>
}

// More than half is read; all is returned; only a map is read in part; lines are normalized along the cut axis.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: fuse.dense %x, %w : (tensor<16x32xf32>
// CHECK-NEXT: fuse.strided_slice
// CHECK-NEXT: fuse.sum %x
// CHECK-NEXT: fuse.strided_slice
// CHECK-NEXT: fuse.exp %x : tensor<16x32xf32>
// CHECK-NEXT: fuse.strided_slice
// CHECK-NEXT: fuse.softmax %x, axis = 0 : tensor<16x32xf32>
// CHECK-NEXT: fuse.strided_slice
func.func @left_alone(%x: tensor<16x32xf32>, %w: tensor<64x32xf32>)
    -> (tensor<9x64xf32>, tensor<16xf32>, tensor<1xf32>, tensor<1x32xf32>, tensor<1x32xf32>) {
  %0 = fuse.dense %x, %w : (tensor<16x32xf32>, tensor<64x32xf32>) -> tensor<16x64xf32>
  %1 = fuse.strided_slice %0, begin = [4], end = [13], axes = [0] : (tensor<16x64xf32>) -> tensor<9x64xf32>
  %2 = fuse.sum %x, axes = [1] : (tensor<16x32xf32>) -> tensor<16xf32>
  %3 = fuse.strided_slice %2, begin = [4], end = [5], axes = [0] : (tensor<16xf32>) -> tensor<1xf32>
  %4 = fuse.exp %x : tensor<16x32xf32>
  %5 = fuse.strided_slice %4, begin = [4], end = [5], axes = [0] : (tensor<16x32xf32>) -> tensor<1x32xf32>
  %6 = fuse.softmax %x, axis = 0 : tensor<16x32xf32>
  %7 = fuse.strided_slice %6, begin = [4], end = [5], axes = [0] : (tensor<16x32xf32>) -> tensor<1x32xf32>
  func.return %1, %2, %3, %5, %7 : tensor<9x64xf32>, tensor<16xf32>, tensor<1xf32>, tensor<1x32xf32>, tensor<1x32xf32>
}

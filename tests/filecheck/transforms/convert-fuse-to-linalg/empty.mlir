// RUN: fuse-opt %s -p convert-fuse-to-linalg | filecheck %s

// A tensor without elements needs no loop, and a sum of nothing is what it starts with.
// CHECK-LABEL: func.func @main
// CHECK: [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK: [[SUM:%.*]] = linalg.fill ins([[ZERO]] : f32)
// CHECK-SAME: -> tensor<2xf32>
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @main(%x: tensor<2x3x0xf32>, %y: tensor<2x0xf32>) -> (tensor<2x1x0xi64>, tensor<0x6xf32>, tensor<2x0xf32>, tensor<2xf32>) {
  %a = fuse.argmax %x, axes = [1], keepdims = true : (tensor<2x3x0xf32>) -> tensor<2x1x0xi64>
  %b = fuse.reshape %x : (tensor<2x3x0xf32>) -> tensor<0x6xf32>
  %c = fuse.relu %y : tensor<2x0xf32>
  %d = fuse.sum %c, axes = [1] : (tensor<2x0xf32>) -> tensor<2xf32>
  return %a, %b, %c, %d : tensor<2x1x0xi64>, tensor<0x6xf32>, tensor<2x0xf32>, tensor<2xf32>
}

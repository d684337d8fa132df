// RUN: fuse-opt %s --fold-scale-axis --fold-constants | filecheck %s

// The scale of the data becomes one of the weight: what is added on the way is divided by it.
// CHECK-LABEL: func.func @through_addition_and_relu
// CHECK-NEXT:    [[T:%.*]] = arith.constant dense<[{{\[\[}}5.000000e-01]], {{\[\[}}2.500000e-01]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:    [[A:%.*]] = fuse.add %x, [[T]]
// CHECK-NEXT:    [[R:%.*]] = fuse.relu [[A]]
// CHECK-NEXT:    [[W:%.*]] = arith.constant dense<[{{\[\[\[}}2.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<1x2x1x1xf32>
// CHECK-NEXT:    [[Y:%.*]] = fuse.conv2d [[R]], [[W]]
// CHECK-NEXT:    func.return [[Y]]
func.func @through_addition_and_relu(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %scale = arith.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %shift = arith.constant dense<1.0> : tensor<2x1x1xf32>
  %m = fuse.multiply %x, %scale : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %a = fuse.add %m, %shift : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = fuse.relu %a : tensor<1x2x4x4xf32>
  %y = fuse.conv2d %r, %w : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x4xf32>
  func.return %y : tensor<1x1x4x4xf32>
}

// Of a depthwise convolution every channel of the weight meets its own of the data.
// CHECK-LABEL: func.func @depthwise
// CHECK-NEXT:    [[W:%.*]] = arith.constant dense<[{{\[\[\[}}2.000000e+00]]], {{\[\[\[}}4.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:    [[Y:%.*]] = fuse.conv2d %x, [[W]], groups = 2
// CHECK-NEXT:    func.return [[Y]]
func.func @depthwise(%x: tensor<?x2x4x4xf32>) -> tensor<?x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<[[[2.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %m = fuse.multiply %x, %scale : (tensor<?x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<?x2x4x4xf32>
  %y = fuse.conv2d %m, %w, groups = 2 : (tensor<?x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<?x2x4x4xf32>
  func.return %y : tensor<?x2x4x4xf32>
}

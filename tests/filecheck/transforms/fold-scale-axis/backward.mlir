// RUN: fuse-opt %s --fold-scale-axis --fold-constants | filecheck %s

// Scale and shift of a batch norm behind a convolution are gone: its weight and its bias have them.
// CHECK-LABEL: func.func @batch_norm
// CHECK-NEXT:    [[W:%.*]] = arith.constant dense<[{{\[\[\[}}2.000000e+00]]], {{\[\[\[}}3.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:    [[Y:%.*]] = fuse.conv2d %x, [[W]]
// CHECK-NEXT:    [[B:%.*]] = arith.constant dense<[2.500000e+00, 6.500000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %n = fuse.bias_add [[Y]], [[B]]
// CHECK-NEXT:    %r = fuse.relu %n
// CHECK-NEXT:    func.return %r
func.func @batch_norm(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %b = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scale = arith.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %shift = arith.constant dense<0.5> : tensor<2x1x1xf32>
  %y = fuse.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %z = fuse.bias_add %y, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %m = fuse.multiply %z, %scale : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %n = fuse.add %m, %shift : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = fuse.relu %n : tensor<1x2x4x4xf32>
  func.return %r : tensor<1x2x4x4xf32>
}

// A positive scale passes an activation and a pool; a quotient is a scale, too.
// CHECK-LABEL: func.func @through_relu
// CHECK-NEXT:    [[W:%.*]] = arith.constant dense<[{{\[}}1.000000e+00, 5.000000e-01]]> : tensor<1x2xf32>
// CHECK-NEXT:    [[Y:%.*]] = fuse.dense %x, [[W]]
// CHECK-NEXT:    [[R:%.*]] = fuse.relu [[Y]]
// CHECK-NEXT:    func.return [[R]]
func.func @through_relu(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  %w = arith.constant dense<[[2.0, 1.0]]> : tensor<1x2xf32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %y = fuse.dense %x, %w : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x1xf32>
  %r = fuse.relu %y : tensor<3x1xf32>
  %m = fuse.divide %r, %two : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
  func.return %m : tensor<3x1xf32>
}

// Weights whose elements are not in the module are scaled as well, by an op.
// CHECK-LABEL: func.func @elided
// CHECK:         [[W:%.*]] = fuse.multiply %w
// CHECK-NEXT:    [[Y:%.*]] = fuse.matmul %x, [[W]]
// CHECK-NEXT:    func.return [[Y]]
func.func @elided(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = arith.constant dense_resource<__elided__> : tensor<2x2xf32>
  %scale = arith.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %y = fuse.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = fuse.multiply %scale, %y : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// Terms that follow each other are one bias; one number stands for all channels.
// CHECK-LABEL: func.func @biases
// CHECK:         [[B:%.*]] = arith.constant dense<[5.500000e+00, 6.500000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %c = fuse.bias_add {{%.*}}, [[B]] {layer = "head"}
// CHECK-NEXT:    func.return %c
func.func @biases(%x: tensor<3x2xf32>, %w: tensor<2x2xf32>) -> tensor<3x2xf32> {
  %p = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %q = arith.constant dense<5.0> : tensor<f32>
  %r = arith.constant dense<0.5> : tensor<1x2xf32>
  %y = fuse.matmul %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %a = fuse.bias_add %y, %p : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %b = fuse.add %q, %a : (tensor<f32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %c = fuse.subtract %b, %r {layer = "head"} : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  func.return %c : tensor<3x2xf32>
}

// RUN: fuse-opt %s --fold-scale-axis | filecheck %s

// Somebody else reads what the convolution gives.
// CHECK-LABEL: func.func @two_users
// CHECK:         fuse.multiply %y
func.func @two_users(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<2.0> : tensor<f32>
  %y = fuse.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %m = fuse.multiply %y, %scale : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  func.return %y, %m : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// A negative scale would turn the activation round.
// CHECK-LABEL: func.func @negative
// CHECK:         fuse.multiply %r
func.func @negative(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<[[[2.0]], [[-1.0]]]> : tensor<2x1x1xf32>
  %y = fuse.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %r = fuse.relu %y : tensor<1x2x4x4xf32>
  %m = fuse.multiply %r, %scale : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %m : tensor<1x2x4x4xf32>
}

// No weight holds a factor for each column of the image.
// CHECK-LABEL: func.func @other_axis
// CHECK:         fuse.multiply %y
func.func @other_axis(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<[2.0, 3.0, 4.0, 5.0]> : tensor<4xf32>
  %y = fuse.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %m = fuse.multiply %y, %scale : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  func.return %m : tensor<1x2x4x4xf32>
}

// A scale, or a weight, that is known only at run time stays where it is.
// CHECK-LABEL: func.func @not_constant
// CHECK:         fuse.multiply %y, %scale
// CHECK:         fuse.multiply %z, %two
func.func @not_constant(%x: tensor<3x2xf32>, %v: tensor<2x2xf32>, %scale: tensor<f32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %y = fuse.dense %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = fuse.multiply %y, %scale : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %z = fuse.dense %x, %v : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %n = fuse.multiply %z, %two : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  func.return %m, %n : tensor<3x2xf32>, tensor<3x2xf32>
}

// Nothing can be divided by zero, and an f16 would be rounded once more.
// CHECK-LABEL: func.func @arithmetic
// CHECK:         fuse.multiply %x
// CHECK:         fuse.multiply %q
func.func @arithmetic(%x: tensor<3x2xf32>, %p: tensor<3x2xf16>) -> (tensor<3x2xf32>, tensor<3x2xf16>) {
  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %zero = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %m = fuse.multiply %x, %zero : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %a = fuse.add %m, %one : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %y = fuse.dense %a, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %v = arith.constant dense<1.0> : tensor<2x2xf16>
  %two = arith.constant dense<2.0> : tensor<f16>
  %q = fuse.dense %p, %v : (tensor<3x2xf16>, tensor<2x2xf16>) -> tensor<3x2xf16>
  %n = fuse.multiply %q, %two : (tensor<3x2xf16>, tensor<f16>) -> tensor<3x2xf16>
  func.return %y, %n : tensor<3x2xf32>, tensor<3x2xf16>
}

// The scale makes the value wider: there is no such axis in front of it.
// CHECK-LABEL: func.func @widened
// CHECK:         fuse.multiply %y
func.func @widened(%x: tensor<1x2xf32>) -> tensor<3x2xf32> {
  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %scale = arith.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %y = fuse.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %m = fuse.multiply %y, %scale : (tensor<1x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

// Finished functions are left alone.
// CHECK-LABEL: func.func private @primitive
// CHECK:         fuse.multiply %y
func.func private @primitive(%x: tensor<3x2xf32>) -> tensor<3x2xf32> attributes {primitive} {
  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %y = fuse.dense %x, %w : (tensor<3x2xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
  %m = fuse.multiply %y, %two : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  func.return %m : tensor<3x2xf32>
}

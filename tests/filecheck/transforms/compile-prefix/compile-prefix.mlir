// RUN: fuse-opt %s --compile-prefix | filecheck %s
// RUN: fuse-opt %s --compile-prefix="layout=keep" | filecheck %s --check-prefix=KEEP
// RUN: fuse-opt %s --compile-prefix --fuse-ops | filecheck %s --check-prefix=FUSED
// RUN: fuse-opt %s --refine-shapes --simplify-inference="expand-norms=false" --fold-constants --fold-scale-axis --fold-constants --eliminate-common-subexpr --convert-layout="if-profitable=true" > %t && fuse-opt %s --compile-prefix | diff - %t
// RUN: fuse-opt %s --compile-prefix='sizes="batch=3"' | filecheck %s --check-prefix=SIZES

// A convolution with its batch norm, activation and residual is one primitive. Two transposes would take
// longer than this small convolution, so it keeps its layout; `convert-layout/if-profitable.mlir` has other cases.
// CHECK-LABEL: func.func @block
// CHECK-NEXT:    [[W:%.*]] = arith.constant dense<[{{\[\[\[}}2.000000e+00]], {{\[\[}}0.000000e+00]]], {{\[\[\[}}0.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<2x2x1x1xf32>
// CHECK-NEXT:    %c = fuse.conv2d %x, [[W]] :
// CHECK-NEXT:    [[B:%.*]] = arith.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    %n = fuse.bias_add %c, [[B]] :
// CHECK-NEXT:    %s = fuse.add %n, %x
// CHECK-NEXT:    %r = fuse.relu %s
// CHECK-NEXT:    func.return %r
// KEEP-LABEL: func.func @block
// KEEP-NOT:     fuse.transpose
// KEEP:         fuse.conv2d %x, {{%.*}} : (tensor<1x2x4x4xf32>
// FUSED:        func.func private @fused_conv2d_bias_add_add_relu(
func.func @block(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = arith.constant dense<[[[[1.0]], [[0.0]]], [[[0.0]], [[1.0]]]]> : tensor<2x2x1x1xf32>
  %gamma = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %beta = arith.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %mean = arith.constant dense<0.0> : tensor<2xf32>
  %variance = arith.constant dense<0.25> : tensor<2xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %n = fuse.batch_norm %c, %gamma, %beta, %mean, %variance, epsilon = 0.0 : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %s = fuse.add %n, %x : tensor<1x2x4x4xf32>
  %r = fuse.relu %s : tensor<1x2x4x4xf32>
  func.return %r : tensor<1x2x4x4xf32>
}

// Ops of computed shapes become static where their numbers are known; the option gives numbers.
// CHECK-LABEL: func.func @sizes
// SIZES-LABEL: func.func @sizes
func.func @sizes(%x: tensor<?x4xf32> {fuse.sizes = ["batch", ""]}, %w: tensor<1x4xf32>) -> (tensor<?x4xf32>, tensor<?x?xf32>) {
  // CHECK-NOT:  dyn_full
  // CHECK:      fuse.dyn_broadcast_to
  // SIZES-NOT:  dyn_
  // SIZES:      fuse.broadcast_to %w : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %shape = fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %rows = fuse.dyn_broadcast_to %w, %shape : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %c = arith.constant dense<1.0> : tensor<f32>
  %two = arith.constant dense<[2, 5]> : tensor<2xi64>
  %ones = fuse.dyn_full %c, %two : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %rows, %ones : tensor<?x4xf32>, tensor<?x?xf32>
}

// RUN: fuse-opt %s --convert-layout | filecheck %s
// RUN: fuse-opt %s --convert-layout --convert-layout="layout=NCHW" | filecheck %s --check-prefix=BACK

// A network of convolutions has one transpose, at its input: behind the global pool the axes are of size 1.
// CHECK-LABEL: func.func @network
// CHECK-NEXT:    [[X:%.*]] = fuse.transpose %x, permutation = [0, 2, 3, 1] : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
// CHECK-NEXT:    %c = fuse.conv2d [[X]], %w, padding = [1, 1, 1, 1], data_layout = "NHWC"
// CHECK-NEXT:    %b = fuse.bias_add %c, %bias, axis = 3
// CHECK-NEXT:    %r = fuse.relu %b
// CHECK-NEXT:    %m = fuse.max_pool2d %r, pool_size = [2, 2], strides = [2, 2], layout = "NHWC"
// CHECK-NEXT:    %j = fuse.concatenate %m, %m, axis = 3
// CHECK-NEXT:    %g = fuse.global_avg_pool2d %j, layout = "NHWC"
// CHECK-NEXT:    %y = fuse.batch_flatten %g : (tensor<1x1x1x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:    func.return %y
// BACK-LABEL: func.func @network
// BACK-NOT:     fuse.transpose
// BACK:         fuse.conv2d %x, %w, padding = [1, 1, 1, 1] :
// BACK-NOT:     fuse.transpose
// BACK:         func.return
func.func @network(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %bias: tensor<4xf32>) -> tensor<1x8xf32> {
  %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %b = fuse.bias_add %c, %bias : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = fuse.relu %b : tensor<1x4x8x8xf32>
  %m = fuse.max_pool2d %r, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %j = fuse.concatenate %m, %m, axis = 1 : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x8x4x4xf32>
  %g = fuse.global_avg_pool2d %j : (tensor<1x8x4x4xf32>) -> tensor<1x8x1x1xf32>
  %y = fuse.batch_flatten %g : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
  func.return %y : tensor<1x8xf32>
}

// Operands of a sum get one layout, and constants are permuted at once, as short as they broadcast.
// CHECK-LABEL: func.func @sum
// CHECK:         [[Y:%.*]] = fuse.transpose %y, permutation = [0, 2, 3, 1]
// CHECK:         [[SHIFT:%.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK:         [[COLUMNS:%.*]] = arith.constant dense<[{{\[}}3.000000e+00], [4.000000e+00]]> : tensor<2x1xf32>
// CHECK:         [[C:%.*]] = fuse.conv2d
// CHECK-NEXT:    %s = fuse.add [[C]], [[Y]]
// CHECK-NEXT:    %t = fuse.add %s, [[SHIFT]]
// CHECK-NEXT:    %u = fuse.multiply %t, [[COLUMNS]]
// CHECK-NEXT:    [[U:%.*]] = fuse.transpose %u, permutation = [0, 3, 1, 2]
// CHECK-NEXT:    func.return [[U]]
func.func @sum(%x: tensor<1x2x3x2xf32>, %y: tensor<1x2x3x2xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x3x2xf32> {
  %shift = arith.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %columns = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x2x3x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x2xf32>
  %s = fuse.add %c, %y : tensor<1x2x3x2xf32>
  %t = fuse.add %s, %shift : (tensor<1x2x3x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3x2xf32>
  %u = fuse.multiply %t, %columns : (tensor<1x2x3x2xf32>, tensor<2xf32>) -> tensor<1x2x3x2xf32>
  func.return %u : tensor<1x2x3x2xf32>
}

// Transposes of the program that only undo a layout vanish.
// CHECK-LABEL: func.func @transposes
// CHECK-NEXT:    %c = fuse.conv2d %x, %w, data_layout = "NHWC"
// CHECK-NEXT:    func.return %c
func.func @transposes(%x: tensor<1x4x4x3xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x4x4x2xf32> {
  %t = fuse.transpose %x, permutation = [0, 3, 1, 2] : (tensor<1x4x4x3xf32>) -> tensor<1x3x4x4xf32>
  %c = fuse.conv2d %t, %w : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %y = fuse.transpose %c, permutation = [0, 2, 3, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  func.return %y : tensor<1x4x4x2xf32>
}

// A shuffle of channels moves within the last axis: the reshapes around it split and join that axis.
// CHECK-LABEL: func.func @shuffle
// CHECK:         [[C:%.*]] = fuse.conv2d
// CHECK-NEXT:    [[S:%.*]] = fuse.reshape [[C]] : (tensor<1x5x5x6xf32>) -> tensor<1x5x5x2x3xf32>
// CHECK-NEXT:    [[T:%.*]] = fuse.transpose [[S]], permutation = [0, 1, 2, 4, 3]
// CHECK-NEXT:    [[J:%.*]] = fuse.reshape [[T]] : (tensor<1x5x5x3x2xf32>) -> tensor<1x5x5x6xf32>
// CHECK-NEXT:    fuse.conv2d [[J]], %w, data_layout = "NHWC"
func.func @shuffle(%x: tensor<1x6x5x5xf32>, %w: tensor<6x6x1x1xf32>) -> tensor<1x6x5x5xf32> {
  %c = fuse.conv2d %x, %w : (tensor<1x6x5x5xf32>, tensor<6x6x1x1xf32>) -> tensor<1x6x5x5xf32>
  %s = fuse.reshape %c : (tensor<1x6x5x5xf32>) -> tensor<1x2x3x5x5xf32>
  %t = fuse.transpose %s, permutation = [0, 2, 1, 3, 4] : (tensor<1x2x3x5x5xf32>) -> tensor<1x3x2x5x5xf32>
  %j = fuse.reshape %t : (tensor<1x3x2x5x5xf32>) -> tensor<1x6x5x5xf32>
  %d = fuse.conv2d %j, %w : (tensor<1x6x5x5xf32>, tensor<6x6x1x1xf32>) -> tensor<1x6x5x5xf32>
  func.return %d : tensor<1x6x5x5xf32>
}

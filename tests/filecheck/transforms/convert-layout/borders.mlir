// RUN: fuse-opt %s --convert-layout --allow-unregistered-dialect | filecheck %s

// A function without an image in another layout stays as it is, transposes and all.
// CHECK-LABEL: func.func @nothing_to_convert
// CHECK-NEXT:    %t = fuse.transpose %x
// CHECK-NEXT:    %r = fuse.relu %t
// CHECK-NEXT:    %u = fuse.transpose %r
// CHECK-NEXT:    %c = fuse.conv2d %u
// CHECK-NEXT:    func.return %c
func.func @nothing_to_convert(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x4x4x2xf32> {
  %t = fuse.transpose %x, permutation = [0, 3, 2, 1] : (tensor<1x2x4x4xf32>) -> tensor<1x4x4x2xf32>
  %r = fuse.relu %t : tensor<1x4x4x2xf32>
  %u = fuse.transpose %r, permutation = [0, 1, 2, 3] : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xf32>
  %c = fuse.conv2d %u, %w, data_layout = "NHWC" : (tensor<1x4x4x2xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x4x2xf32>
  func.return %c : tensor<1x4x4x2xf32>
}

// An op of another dialect, a call and a region read what they read before; one transpose serves all of them.
// CHECK-LABEL: func.func @foreign
// CHECK:         %c = fuse.conv2d
// CHECK-NEXT:    [[C:%.*]] = fuse.transpose %c, permutation = [0, 3, 1, 2]
// CHECK-NEXT:    %m = "mine.op"([[C]])
// CHECK-NEXT:    %n = func.call @callee([[C]])
// CHECK-NEXT:    %i = scf.if
// CHECK-NEXT:      scf.yield [[C]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      [[D:%.*]] = fuse.conv2d %c, %w, data_layout = "NHWC"
func.func @foreign(%k: i1, %x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %c = fuse.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %m = "mine.op"(%c) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %n = func.call @callee(%c) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %i = scf.if %k -> (tensor<1x2x4x4xf32>) {
    scf.yield %c : tensor<1x2x4x4xf32>
  } else {
    %d = fuse.conv2d %c, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
    scf.yield %d : tensor<1x2x4x4xf32>
  }
  func.return %i : tensor<1x2x4x4xf32>
}
func.func private @callee(tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>

// The index of the greatest of several axes counts elements in their order, so it needs the old one.
// CHECK-LABEL: func.func @flat_index
// CHECK:         [[C:%.*]] = fuse.transpose %c
// CHECK-NEXT:    fuse.argmax [[C]]
func.func @flat_index(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<i64> {
  %c = fuse.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %i = fuse.argmax %c : (tensor<1x2x4x4xf32>) -> tensor<i64>
  func.return %i : tensor<i64>
}

// A transpose of axes of size 1 is a reshape, also of an image of one channel.
// CHECK-LABEL: func.func @one_channel
// CHECK-NEXT:    [[X:%.*]] = fuse.reshape %x : (tensor<?x1x4x4xf32>) -> tensor<?x4x4x1xf32>
// CHECK-NEXT:    fuse.conv2d [[X]]
func.func @one_channel(%x: tensor<?x1x4x4xf32>, %w: tensor<2x1x1x1xf32>) -> tensor<?x2x4x4xf32> {
  %c = fuse.conv2d %x, %w : (tensor<?x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<?x2x4x4xf32>
  func.return %c : tensor<?x2x4x4xf32>
}

// Finished functions are left alone.
// CHECK-LABEL: func.func private @primitive
// CHECK-NEXT:    fuse.conv2d %x, %w :
func.func private @primitive(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> attributes {primitive} {
  %c = fuse.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  func.return %c : tensor<1x2x4x4xf32>
}

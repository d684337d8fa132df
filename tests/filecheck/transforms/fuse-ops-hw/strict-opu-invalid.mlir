// RUN: fuse-opt %s --fuse-ops-hw="strict-opu=true" --split-input-file --verify-diagnostics | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw --split-input-file | filecheck %s --check-prefix=SOUND

// The walk reaches the pool of the fork last: it joins the group of its own reader, and becomes the root of it.
func.func @fork(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %r = fuse.relu %x : tensor<1x1x4x4xf32>
  %p = fuse.max_pool2d %x, pool_size = [1, 1] : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %c = fuse.concatenate %r, %p, axis = 1 : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %c : tensor<1x2x4x4xf32>
}
// CHECK: 'fuse.concatenate' op is lost: the function returns it, but the result of its group is %p
// SOUND-LABEL: func.func @fork
// SOUND-NEXT:    func.call @fused_relu(%x)
// SOUND-NEXT:    func.call @fused_max_pool2d(%x)
// SOUND-NEXT:    func.call @fused_concatenate(%r, %p)

// -----

// The walk starts from the first argument alone.
func.func @second_tower(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fuse.relu %x : tensor<4xf32>
  %s = fuse.relu %y : tensor<4xf32>
  %a = fuse.add %r, %s : tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: 'fuse.relu' op is in no group: the walk from the first node does not come to it
// SOUND-LABEL: func.func @second_tower
// SOUND-NEXT:    %r = func.call @fused_relu(%x)
// SOUND-NEXT:    func.call @fused_relu_add(%y, %r)

// -----

// The add joins the first group before the second convolution has one, so that each group needs the other.
func.func @cycle(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = arith.constant dense<0.5> : tensor<1x1x1x1xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %r = fuse.relu %c : tensor<1x1x4x4xf32>
  %d = fuse.conv2d %c, %w : (tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x4x4xf32>
  %a = fuse.add %r, %d : tensor<1x1x4x4xf32>
  func.return %a : tensor<1x1x4x4xf32>
}
// CHECK: 'fuse.conv2d' op is lost: %d reads it, but the result of its group is %a
// SOUND-LABEL: func.func @cycle
// SOUND-NEXT:    %c, %r = func.call @fused_conv2d_relu(%x)
// SOUND-NEXT:    func.call @fused_conv2d_add(%c, %r)

// -----

// A tuple is no operator, so it is not the result of a group that would hide the lost value.
func.func @tuple(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tuple<tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>> {
  %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %r = fuse.relu %c : tensor<1x4x8x8xf32>
  %t = fuse.tuple %c, %r : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tuple<tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>>
  func.return %t : tuple<tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>>
}
// CHECK: 'fuse.conv2d' op is lost: %t reads it, but the result of its group is %r
// SOUND-LABEL: func.func @tuple
// SOUND-NEXT:    %c, %r = func.call @fused_conv2d_relu(%x, %w)

// -----

// What nothing is known about cannot move.
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = fuse.relu %x : tensor<4xf32>
  %u = fuse.stop_fusion %r : tensor<4xf32>
  func.return %u : tensor<4xf32>
}
// CHECK: 'fuse.stop_fusion' op is an op that nothing is known about
// SOUND-LABEL: func.func @unknown
// SOUND-NEXT:    %r = func.call @fused_relu(%x)
// SOUND-NEXT:    fuse.stop_fusion %r

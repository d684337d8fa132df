// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw="template=ethos-u" | filecheck %s --check-prefix=ETHOS
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw="template=gemmini" | filecheck %s --check-prefix=GEMMINI

// What an unknown op makes of a constant is no constant: the sum is one of two feature maps.
func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = arith.constant dense<0> : tensor<1xi32>
  %y = "dev.read_frame"(%i) : (tensor<1xi32>) -> tensor<4xf32>
  %r = fuse.relu %x : tensor<4xf32>
  %s = fuse.add %r, %y : tensor<4xf32>
  return %s : tensor<4xf32>
}
// CHECK-LABEL: func.func @unknown
// CHECK:         func.call @fused_relu_add(%x, %y)

// A reshape of a constant is one: a bias.
func.func @reshaped(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %b = arith.constant dense<1.0> : tensor<256xf32>
  %v = fuse.reshape %b : (tensor<256xf32>) -> tensor<1x4x8x8xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %s = fuse.add %c, %v : tensor<1x4x8x8xf32>
  return %s : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT:    func.call @[[REF:.*]](%x, %w)
// CHECK:       func.func private @[[REF]](
// CHECK:         fuse.add {{.*}} {fuse.unit = "add"}

// What streams by has the shape of the result; a unit that would have to broadcast it starts a trip with the other map.
func.func @broadcast_stream(%x: tensor<1x4x1x1xf32>, %w: tensor<4x4x1x1xf32>, %y: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %c = fuse.conv2d %x, %w : (tensor<1x4x1x1xf32>, tensor<4x4x1x1xf32>)
  %s = fuse.add %c, %y : (tensor<1x4x1x1xf32>, tensor<1x4x8x8xf32>)
  return %s : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @broadcast_stream
// CHECK-NEXT:    %c = func.call @fused_conv2d(%x, %w)
// CHECK-NEXT:    %s = func.call @fused_add(%c, %y) {fuse.hardware_reason = "hardware-limit: %c would be broadcast while it streams by"}

// Vela's pools have no bias.
func.func @pool_bias(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %b = arith.constant dense<1.0> : tensor<4xf32>
  %p = fuse.max_pool2d %x, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>)
  %s = fuse.bias_add %p, %b : (tensor<1x4x4x4xf32>, tensor<4xf32>)
  return %s : tensor<1x4x4x4xf32>
}
// ETHOS-LABEL: func.func @pool_bias
// ETHOS-NEXT:    %p = func.call @fused_max_pool2d(%x)
// ETHOS-NEXT:    %s = func.call @fused_bias_add(%p) {fuse.hardware_reason = "not-reachable

// Gemmini convolves depthwise, too, but with no other number of groups, and pools behind convolutions alone.
func.func @groups(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x1x1xf32>, %v: tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %c = fuse.conv2d %x, %w, groups = 4 : (tensor<1x4x8x8xf32>, tensor<4x1x1x1xf32>)
  %d = fuse.conv2d %c, %v, groups = 2 : (tensor<1x4x8x8xf32>, tensor<4x2x1x1xf32>)
  return %d : tensor<1x4x8x8xf32>
}
// GEMMINI-LABEL: func.func @groups
// GEMMINI-NEXT:    %c = func.call @fused_conv2d{{.*}}(%x, %w)
// GEMMINI-NEXT:    %d = fuse.conv2d {{.*}}hardware-constraint: the convolution has several groups
func.func @matmul_pool(%x: tensor<16x4xf32>, %w: tensor<16x4xf32>) -> tensor<1x4x4x4xf32> {
  %d = fuse.dense %x, %w : (tensor<16x4xf32>, tensor<16x4xf32>)
  %v = fuse.reshape %d : (tensor<16x16xf32>) -> tensor<1x4x8x8xf32>
  %p = fuse.max_pool2d %v, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>)
  return %p : tensor<1x4x4x4xf32>
}
// GEMMINI-LABEL: func.func @matmul_pool
// GEMMINI-NEXT:    %v = func.call @fused_dense_reshape(%x, %w)
// GEMMINI-NEXT:    %p = func.call @fused_max_pool2d(%v) {fuse.hardware_reason = "not-reachable

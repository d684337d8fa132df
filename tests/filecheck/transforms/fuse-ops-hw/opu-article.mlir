// RUN: fuse-opt %s --fuse-ops-hw | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw="strict-opu=true" | filecheck %s --check-prefix=STRICT

// The patterns of the OPU article. Its rules, by hand, with one position in the hardware for the whole run:
// an operator is searched behind the position, and if that fails from the source on, which begins a new group.

// conv: from the source, ipa, group 0. bias: behind ipa, add. relu: behind add, compare. pool: behind compare, pool.
// conv: nothing behind pool, so from the source, ipa, group 1. bias: add.
func.func @conv_bias_relu_pool(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x1x1xf32>
  %b = arith.constant dense<0.1> : tensor<4xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %d = fuse.bias_add %c, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = fuse.relu %d : tensor<1x4x8x8xf32>
  %p = fuse.max_pool2d %r, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %e = fuse.conv2d %p, %w : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %f = fuse.bias_add %e, %b : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32>
  func.return %f : tensor<1x4x4x4xf32>
}
// CHECK-LABEL:  func.func @conv_bias_relu_pool
// CHECK-NEXT:     %p = func.call @fused_conv2d_bias_add_relu_max_pool2d(%x) : (tensor<1x4x8x8xf32>)
// CHECK-NEXT:     %f = func.call @fused_conv2d_bias_add(%p) {fuse.hardware_reason = "not-reachable: {{.*}} 'pool' {{.*}} ipa"}
// CHECK-NEXT:     func.return %f
// CHECK-LABEL:  func.func private @fused_conv2d_bias_add_relu_max_pool2d
// CHECK-SAME:     attributes {primitive, fuse.hardware = "opu"}
// CHECK-NEXT:     arith.constant dense<5.0
// CHECK-NEXT:     arith.constant dense<1.0
// CHECK-NEXT:     fuse.conv2d {{.*}} {fuse.unit = "ipa"}
// CHECK-NEXT:     fuse.bias_add {{.*}} {fuse.unit = "add"}
// CHECK-NEXT:     fuse.relu {{.*}} {fuse.unit = "compare"}
// CHECK-NEXT:     fuse.max_pool2d {{.*}} {fuse.unit = "pool"}
// CHECK-LABEL:  func.func private @fused_conv2d_bias_add(
// STRICT-LABEL: func.func @conv_bias_relu_pool
// STRICT-NEXT:    func.call @fused_conv2d_bias_add_relu_max_pool2d(%x)
// STRICT-NEXT:    func.call @fused_conv2d_bias_add(%p)
// STRICT-NEXT:    func.return

// Of the readers of %x the convolution has the smaller number and goes first. conv, bias, relu: ipa, add, compare,
// group 0. conv, bias: nothing behind compare, so ipa, add, group 1. add: behind add the first of kind adder or
// res_adder is res_add. relu: behind res_add, compare.
func.func @residual_block(%x: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %w = arith.constant dense<0.5> : tensor<8x8x1x1xf32>
  %b = arith.constant dense<0.1> : tensor<8xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %d = fuse.bias_add %c, %b : (tensor<1x8x8x8xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  %r = fuse.relu %d : tensor<1x8x8x8xf32>
  %e = fuse.conv2d %r, %w : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
  %f = fuse.bias_add %e, %b : (tensor<1x8x8x8xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  %s = fuse.add %f, %x : tensor<1x8x8x8xf32>
  %t = fuse.relu %s : tensor<1x8x8x8xf32>
  func.return %t : tensor<1x8x8x8xf32>
}
// CHECK-LABEL:  func.func @residual_block
// CHECK-NEXT:     %r = func.call @fused_conv2d_bias_add_relu(%x)
// CHECK-NEXT:     %t = func.call @fused_conv2d_bias_add_add_relu(%r, %x) {fuse.hardware_reason = "not-reachable:
// CHECK-NEXT:     func.return %t
// CHECK-LABEL:  func.func private @fused_conv2d_bias_add_add_relu
// CHECK:          fuse.bias_add {{.*}} {fuse.unit = "add"}
// CHECK-NEXT:     fuse.add {{.*}} {fuse.unit = "res_add"}
// CHECK-NEXT:     fuse.relu {{.*}} {fuse.unit = "compare"}
// STRICT-LABEL: func.func @residual_block
// STRICT-NEXT:    func.call @fused_conv2d_bias_add_relu(%x)
// STRICT-NEXT:    func.call @fused_conv2d_bias_add_add_relu(%r, %x)
// STRICT-NEXT:    func.return

// conv %a: ipa, group 0. The walk goes on to its reader: concat cannot follow ipa, group 1; conv %d: behind concat, ipa.
// Only then conv %b: nothing behind ipa, group 2. The groups are a program all the same.
func.func @concat(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %v = arith.constant dense<0.5> : tensor<2x2x1x1xf32>
  %w = arith.constant dense<0.5> : tensor<2x4x1x1xf32>
  %a = fuse.conv2d %x, %v : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %b = fuse.conv2d %x, %v : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %c = fuse.concatenate %a, %b, axis = 1 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32>
  %d = fuse.conv2d %c, %w : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32>
  func.return %d : tensor<1x2x8x8xf32>
}
// CHECK-LABEL:  func.func @concat(
// CHECK-NEXT:     %a = func.call @fused_conv2d(%x)
// CHECK-NEXT:     %b = func.call @fused_conv2d(%x)
// CHECK-NEXT:     %d = func.call @fused_concatenate_conv2d(%a, %b) {fuse.hardware_reason = "not-reachable: {{.*}} kind mem_rd"}
// CHECK-LABEL:  func.func private @fused_concatenate_conv2d
// CHECK:          fuse.concatenate {{.*}} {fuse.unit = "concat"}
// STRICT-LABEL: func.func @concat(
// STRICT-NEXT:    %a = func.call @fused_conv2d(%x)
// STRICT-NEXT:    %b = func.call @fused_conv2d(%x)
// STRICT-NEXT:    %d = func.call @fused_concatenate_conv2d(%a, %b)

// pad: from the source the first of kind pad is pad. conv: ipa. pad: behind ipa it is pool_pad. pool: pool. One group:
// the data flow has one pad in front of ipa, and another in front of pool.
func.func @pad_conv(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x5x5xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x3x3xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %p = fuse.pad %x, %zero, low = [0, 0, 1, 1], high = [0, 0, 1, 1] : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %c = fuse.conv2d %p, %w : (tensor<1x4x10x10xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32>
  %q = fuse.pad %c, %zero, low = [0, 0, 1, 1], high = [0, 0, 1, 1] : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32>
  %m = fuse.max_pool2d %q, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x10x10xf32>) -> tensor<1x4x5x5xf32>
  func.return %m : tensor<1x4x5x5xf32>
}
// CHECK-LABEL:  func.func @pad_conv
// CHECK-NEXT:     func.call @fused_pad_conv2d_pad_max_pool2d(%x)
// CHECK-NEXT:     func.return
// CHECK-LABEL:  func.func private @fused_pad_conv2d_pad_max_pool2d
// CHECK:          fuse.pad {{.*}} {fuse.unit = "pad"}
// CHECK-NEXT:     fuse.conv2d {{.*}} {fuse.unit = "ipa"}
// CHECK-NEXT:     fuse.pad {{.*}} {fuse.unit = "pool_pad"}
// CHECK-NEXT:     fuse.max_pool2d {{.*}} {fuse.unit = "pool"}
// STRICT-LABEL: func.func @pad_conv
// STRICT-NEXT:    func.call @fused_pad_conv2d_pad_max_pool2d(%x)

// conv, leaky_relu: ipa, compare. upsample: behind compare, third of its links. concat: new group.
func.func @upsample(%x: tensor<1x2x4x4xf32>, %skip: tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = arith.constant dense<0.5> : tensor<2x2x1x1xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %l = fuse.leaky_relu %c, alpha = 0.125 : tensor<1x2x4x4xf32>
  %u = fuse.resize2d %l, size = [8, 8], method = "nearest" : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  %j = fuse.concatenate %u, %skip, axis = 1 : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %j : tensor<1x4x8x8xf32>
}
// CHECK-LABEL:  func.func @upsample
// CHECK-NEXT:     %u = func.call @fused_conv2d_leaky_relu_resize2d(%x)
// CHECK-NEXT:     %j = func.call @fused_concatenate(%u, %skip)
// CHECK-LABEL:  func.func private @fused_conv2d_leaky_relu_resize2d
// CHECK:          fuse.resize2d {{.*}} {fuse.unit = "upsample"}
// STRICT-LABEL: func.func @upsample
// STRICT-NEXT:    %u = func.call @fused_conv2d_leaky_relu_resize2d(%x)
// STRICT-NEXT:    %j = func.call @fused_concatenate(%u, %skip)

// pad: group 0. The walk goes on to %z: behind pad the first adder is add, group 0. conv, %y: ipa, add, group 1.
// In the end the add of a pad and an add draws both into the group of the latter: one group with the result %z.
func.func @channel_expansion(%x: tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = arith.constant dense<0.5> : tensor<4x2x1x1xf32>
  %b = arith.constant dense<0.1> : tensor<4x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %p = fuse.pad %x, %zero, low = [0, 0, 0, 0], high = [0, 2, 0, 0] : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32>
  %y = fuse.add %c, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %z = fuse.add %p, %y : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}
// CHECK-LABEL:  func.func @channel_expansion
// CHECK-NEXT:     %p = func.call @fused_pad(%x)
// CHECK-NEXT:     %z = func.call @fused_conv2d_add_add(%x, %p)
// STRICT-LABEL: func.func @channel_expansion
// STRICT-NEXT:    %z = func.call @fused_pad_conv2d_add_add(%x)
// STRICT-NEXT:    func.return %z

// conv: ipa, %y: add, group 0. conv, pad: nothing behind add is ipa, so ipa, pool_pad, group 1. %z: behind pool_pad the
// first adder or res_adder is res_add, group 1. %z reads a pad, but %y has the smaller number: nothing is merged.
func.func @pad_of_later_value(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x1x1xf32>
  %b = arith.constant dense<0.1> : tensor<4x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %y = fuse.add %c, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %d = fuse.conv2d %y, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %p = fuse.pad %d, %zero, low = [0, 0, 0, 0], high = [0, 0, 0, 0] : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %z = fuse.add %p, %y : tensor<1x4x8x8xf32>
  func.return %z : tensor<1x4x8x8xf32>
}
// STRICT-LABEL: func.func @pad_of_later_value
// STRICT-NEXT:    %y = func.call @fused_conv2d_add(%x)
// STRICT-NEXT:    %z = func.call @fused_conv2d_pad_add(%y)
// STRICT-NEXT:    func.return %z

// Ops of other dialects may bear the name of an add and read any number of values.
func.func @other_adds(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %r = fuse.relu %x : tensor<4xf32>
  %s = linalg.add ins(%r, %x : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}
// STRICT-LABEL: func.func @other_adds
// STRICT-NEXT:    %s = func.call @fused_relu_add(%x, %o)

// RUN: fuse-opt %s --fuse-ops-hw="template=npu" | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw='template="npu,npu2"' | filecheck %s --check-prefix=TWO

// Each trip must use the product; only the activation writes to memory. A second engine has neither rule.
fuse.hardware @npu source @load results 2 feature_bytes 8192 constant_bytes 4096 {
  fuse.hardware_unit @load kind "load"
  fuse.hardware_unit @mac kind "mac" required
  fuse.hardware_unit @bias kind "bias"
  fuse.hardware_unit @act kind "act" capacity 2 stores
  fuse.hardware_link @load -> @mac
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @act
  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_map "fuse.bias_add" to ["bias"]
  fuse.hardware_map "fuse.relu" to ["act"]
  fuse.hardware_map "fuse.tanh" to ["act"]
}

fuse.hardware @npu2 source @act {
  fuse.hardware_unit @act kind "act"
  fuse.hardware_map "fuse.relu" to ["act"]
}

// A trip that would do without the product stays on the host, unless another engine takes it.
func.func @no_product(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %r = fuse.relu %x : tensor<1x4x8x8xf32>
  return %r : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @no_product
// CHECK-NEXT:    fuse.relu %x {fuse.hardware_reason = "hardware-limit: every trip must use unit 'mac'"}
// TWO-LABEL:   func.func @no_product
// TWO-NEXT:      func.call @fused_relu

// %c comes from a unit that does not write, so a trip that goes on cannot leave it behind; %r can be left behind.
func.func @writes(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>)
    -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %c = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %a = fuse.bias_add %c, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>)
  %d = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %r = fuse.relu %d : tensor<1x4x8x8xf32>
  %t = fuse.tanh %r : tensor<1x4x8x8xf32>
  %s = fuse.add %c, %a : tensor<1x4x8x8xf32>
  return %s, %r, %t : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @writes
// CHECK-NEXT:    func.call @fused_conv2d(%x, %w) :
// CHECK-NEXT:    fuse.bias_add {{.*}}hardware-limit: every trip must use unit 'mac'; %c is read elsewhere, too, but unit 'mac' does not write to memory"}
// CHECK-NEXT:    func.call @fused_conv2d_relu_tanh(%x, %w) :

// Feature maps and constants are counted apart.
func.func @bytes(%x: tensor<1x4x16x16xf32>, %y: tensor<1x4x8x8xf32>) -> (tensor<1x4x16x16xf32>, tensor<1x512x8x8xf32>) {
  %w = arith.constant dense<1.0> : tensor<4x4x1x1xf32>
  %v = arith.constant dense<1.0> : tensor<512x4x1x1xf32>
  %c = fuse.conv2d %x, %w : (tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>)
  %r = fuse.relu %c : tensor<1x4x16x16xf32>
  %d = fuse.conv2d %y, %v : (tensor<1x4x8x8xf32>, tensor<512x4x1x1xf32>)
  return %r, %d : tensor<1x4x16x16xf32>, tensor<1x512x8x8xf32>
}
// CHECK-LABEL: func.func @bytes
// CHECK:         func.call @fused_conv2d{{.*}}(%x)
// CHECK-NEXT:    fuse.relu {{.*}}hardware-limit: every trip must use unit 'mac'; the trip would hold 12288 bytes of feature maps, the limit is 8192"}
// CHECK-NEXT:    fuse.conv2d %y, %v {fuse.hardware_reason = "hardware-limit: the trip would hold 8192 bytes of constants, the limit is 4096"}

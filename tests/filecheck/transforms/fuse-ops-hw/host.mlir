// RUN: fuse-opt %s --fuse-ops-hw="template=gemmini" --fuse-ops | filecheck %s
// RUN: fuse-opt %s --insert-hardware="template=gemmini" | fuse-opt - --fuse-ops-hw="template=gemmini" --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw="template=gemmini" --fuse-ops="strategy=cost" | filecheck %s

// The accelerator takes what it can, `fuse-ops` fuses the rest for the host and leaves hardware functions alone.
func.func @both(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %k = arith.constant dense<2.0> : tensor<f32>
  %a = fuse.dense %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %b = fuse.multiply %a, %k : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %c = fuse.relu %b : tensor<2x4xf32>
  %d = fuse.exp %c : tensor<2x4xf32>
  %e = fuse.tanh %d : tensor<2x4xf32>
  func.return %e : tensor<2x4xf32>
}
// CHECK-LABEL: func.func @both
// CHECK-NEXT:    %c = func.call @fused_dense_multiply_relu(%x, %w)
// CHECK-NEXT:    %e = func.call @fused_exp_tanh(%c)
// CHECK-NEXT:    func.return %e
// CHECK-LABEL: func.func private @fused_exp_tanh({{.*}} attributes {primitive} {
// CHECK-LABEL: func.func private @fused_dense_multiply_relu({{.*}} attributes {primitive, fuse.hardware = "gemmini"} {
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    fuse.dense {{.*}} {fuse.unit = "matmul"}
// CHECK-NEXT:    fuse.multiply {{.*}} {fuse.unit = "matmul_scale"}
// CHECK-NEXT:    fuse.relu {{.*}} {fuse.unit = "matmul_activation"}

// Barriers for `fuse-ops` stay until it has run.
func.func @barrier(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.stop_fusion %a : tensor<4xf32>
  %c = fuse.tanh %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
// CHECK-LABEL: func.func @barrier
// CHECK-NEXT:    %a = func.call @fused_exp(%x)
// CHECK-NEXT:    %c = func.call @fused_tanh(%a)
// CHECK-NEXT:    func.return

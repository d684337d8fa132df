// RUN: fuse-opt %s --fuse-ops --fusion-limit=3 | filecheck %s
// RUN: fuse-opt %s --fuse-ops="fusion-limit=3" | filecheck %s
// RUN: fuse-opt %s --fuse-ops="fusion-limit=3" --debug-only=fuse-ops -o /dev/null 2>&1 | filecheck %s --check-prefix=DEBUG

// Merges of all functions are counted, in the order of the module: here two are left for the second function of three.

// CHECK-LABEL: func.func @first
// CHECK: call @fused_exp_relu(
// DEBUG: [fuse-ops] @first: 3 nodes
// DEBUG-NEXT: phase 0, broadcast-into-consumer: %a = 'fuse.exp' into %b = 'fuse.relu': fused
// DEBUG-NEXT: merge 1: %a = 'fuse.exp' into %b = 'fuse.relu'
// DEBUG-NEXT: 1 kernels, 1 merges
func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.relu %a : tensor<4xf32>
  return %b : tensor<4xf32>
}

// CHECK-LABEL: func.func @second
// CHECK: call @fused_exp_relu_tanh(
// CHECK-NEXT: call @fused_negative(
// DEBUG: merge 2: %a = 'fuse.exp' into %b = 'fuse.relu'
// DEBUG: merge 3: %b = 'fuse.relu' into %c = 'fuse.tanh'
// DEBUG: %c = 'fuse.tanh' into %d = 'fuse.negative': fusion-limit
func.func @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.relu %a : tensor<4xf32>
  %c = fuse.tanh %b : tensor<4xf32>
  %d = fuse.negative %c : tensor<4xf32>
  return %d : tensor<4xf32>
}

// CHECK-LABEL: func.func @third
// CHECK: call @fused_exp(
// CHECK-NEXT: call @fused_relu(
// DEBUG: [fuse-ops] @third: 3 nodes
// DEBUG-NEXT: fusion-limit
// DEBUG: 2 kernels, 0 merges
func.func @third(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.relu %a : tensor<4xf32>
  return %b : tensor<4xf32>
}

// RUN: fuse-opt %s --fuse-ops -t onnx > %t.outlined
// RUN: fuse-opt %s --fuse-ops=form=inline -t onnx | diff - %t.outlined
// RUN: fuse-opt %s --fuse-ops -t loops > %t.outlined
// RUN: fuse-opt %s --fuse-ops=form=inline -t loops | diff - %t.outlined
// RUN: fuse-opt %s --fuse-ops --convert-fuse-to-linalg > %t.outlined
// RUN: fuse-opt %s --fuse-ops=form=inline --convert-fuse-to-linalg | diff - %t.outlined
// RUN: fuse-opt %s --fuse-ops --extract-primitives > %t.outlined
// RUN: fuse-opt %s --fuse-ops=form=inline --extract-primitives | diff - %t.outlined
// RUN: filecheck %s --input-file %t.outlined
// REQUIRES: onnx

// Kernels in their places are exported as those that are functions, two equal ones as one.

// CHECK: builtin.module @fused_matmul_relu attributes {fuse.calls = 2 : i64}
// CHECK: builtin.module @fused_softmax_exp attributes {fuse.calls = 1 : i64}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = fuse.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = fuse.relu %0 : tensor<4x8xf32>
  %2 = fuse.matmul %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = fuse.relu %2 : tensor<4x8xf32>
  %4 = fuse.softmax %3, axis = 1 : tensor<4x8xf32>
  %5 = fuse.exp %4 : tensor<4x8xf32>
  return %5 : tensor<4x8xf32>
}

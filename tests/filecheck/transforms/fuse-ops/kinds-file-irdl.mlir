// RUN: fuse-opt %s --irdl %S/Inputs/npu.irdl --kinds %S/Inputs/kinds.toml --fuse-ops 2>%t | filecheck %s
// RUN: fuse-opt %s --irdl %S/Inputs/npu.irdl | fuse-opt --irdl %S/Inputs/npu.irdl --fuse-ops | filecheck %s --check-prefix=ALONE
// RUN: not fuse-opt %s 2>&1 | filecheck %s --check-prefix=WITHOUT

// Ops of a dialect that a file defines are read and verified, and fuse by the kinds of another: nobody writes Python.
func.func @main(%t: !npu.tile<f32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "npu.load"(%t) : (!npu.tile<f32>) -> tensor<4x4xf32>
  %1 = "npu.matmul"(%0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "npu.gelu"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = fuse.relu %2 : tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}
// CHECK:       func.call @fused_load(%t) : (!npu.tile<f32>)
// CHECK-LABEL: func.func private @fused_matmul_gelu_relu(

// Without kinds they are barriers.
// ALONE:       "npu.gelu"
// ALONE-LABEL: func.func private @fused_relu(

// WITHOUT: error: {{.*}}npu.tile

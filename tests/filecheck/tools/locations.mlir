// RUN: fuse-opt %s --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --print-debuginfo | fuse-opt - --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --print-debuginfo --fuse-ops | filecheck %s --check-prefix=FUSED

// An op has the place where it stands; one that says its own place keeps it, and a call has that of its group's root.
// CHECK: fuse.exp %x : tensor<4xf32> loc("{{.*}}locations.mlir":14:8)
// CHECK: fuse.tanh %a : tensor<4xf32> loc("model.py":3:4)
// CHECK: func.return %b : tensor<4xf32> loc("{{.*}}locations.mlir":16:3)
// CHECK: } loc("{{.*}}locations.mlir":13:1)

// FUSED: func.call @fused_exp_tanh(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":3:4)
// FUSED: fuse.exp %x : tensor<4xf32> loc("{{.*}}locations.mlir":14:8)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.exp %x : tensor<4xf32>
  %b = fuse.tanh %a : tensor<4xf32> loc("model.py":3:4)
  return %b : tensor<4xf32>
}

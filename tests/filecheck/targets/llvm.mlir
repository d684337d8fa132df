// RUN: fuse-opt --fuse-ops -t llvm %s | filecheck %s
// RUN: fuse-opt --fuse-ops -t 'llvm{function="fused_det"}' %s | filecheck %s --check-prefix REFUSED
// RUN: fuse-opt --fuse-ops -t llvm --target-cpu skylake-avx512 %s | filecheck %s --check-prefix WIDE
// RUN: fuse-opt --fuse-ops -t llvm --target-cpu neoverse-n1 %s | filecheck %s --check-prefix NARROW
// RUN: not fuse-opt --fuse-ops -t llvm --target-cpu skylak %s 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not fuse-opt --fuse-ops --target-cpu skylake %s 2>&1 | filecheck %s --check-prefix USAGE

// WIDE: load <16 x float>
// WIDE: "prefer-vector-width"="512"
// NARROW: load <4 x float>
// NARROW: "prefer-vector-width"="128"
// UNKNOWN: error: unknown machine 'skylak'
// UNKNOWN-NEXT: hint: did you mean 'skylake'?
// USAGE: error: argument --target-cpu: target 'mlir' is for no machine, and no pass plans for one

// The nest of the kernel names the ops it comes from, and the function has the form that the runtime calls.
// CHECK:       ; fused_sigmoid_multiply(x: 4x100xf32, {{.*}}: 4x100xf32)
// CHECK-NEXT:  define void @fused_sigmoid_multiply(ptr noalias readonly %slots, i64 %part, i64 %parts)
// CHECK:       ; sigmoid_multiply: sigmoid, multiply
// CHECK:       phi i64
func.func @main(%x: tensor<4x100xf32>, %m: tensor<4x4xf32>) -> (tensor<4x100xf32>, tensor<f32>) {
  %gate = fuse.sigmoid %x : tensor<4x100xf32>
  %silu = fuse.multiply %gate, %x : tensor<4x100xf32>
  %volume = fuse.det %m : (tensor<4x4xf32>)
  return %silu, %volume : tensor<4x100xf32>, tensor<f32>
}
// REFUSED: ; @fused_det has no kernel: 'fuse.det' op has no loop form

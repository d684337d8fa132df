// RUN: fuse-opt %s --cse --fuse-ops --dce --mlir-print-ir-after=fuse-ops -o /dev/null 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: fuse-opt %s --cse --fuse-ops --dce --mlir-print-ir-before=fuse-ops,dce -o /dev/null 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: fuse-opt %s --cse --fuse-ops --dce --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: fuse-opt %s --fuse-ops="max-depth=8" --cse --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not fuse-opt %s --fuse-ops --mlir-print-ir-after=fuse-op 2>&1 | filecheck %s --check-prefix=UNKNOWN

// AFTER-NOT: After cse
// AFTER: IR Dump After fuse-ops
// AFTER: func.call @fused_relu
// AFTER-NOT: After dce

// BEFORE-NOT: Before cse
// BEFORE: IR Dump Before fuse-ops
// BEFORE-NOT: @fused_relu
// BEFORE: IR Dump Before dce
// BEFORE: func.call @fused_relu

// PIPELINE: Pass Manager with 2 passes:
// PIPELINE-NEXT: builtin.module(fuse-ops{opt-level=2 max-depth=8 max-function-args=0 link-params=false dedup=true {{.*}}strategy {{.*}}},cse)

// UNKNOWN: error: argument --mlir-print-ir-after: unknown pass 'fuse-op'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

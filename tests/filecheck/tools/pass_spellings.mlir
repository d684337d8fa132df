// RUN: fuse-opt --canonicalize --cse --dce %s --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: fuse-opt %s -p canonicalize,cse --dce --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: fuse-opt --pass-pipeline='builtin.module(canonicalize, cse,dce)' %s --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: fuse-opt -canonicalize --passes=cse -p dce - --mlir-print-ir-after-all < %s 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: fuse-opt --cse --print-between-passes --time-passes --dce %s 2>/dev/null | filecheck %s --check-prefix=CLEAN
// RUN: fuse-opt --cse --time-passes %s -o /dev/null 2>&1 | filecheck %s --check-prefix=TIME
// RUN: fuse-opt --fuse-ops="max-depth=8 dedup=false" %s | filecheck %s --check-prefix=FUSED
// RUN: xdsl-opt -p 'fuse-ops{max-depth=8 dedup=false}' %s | filecheck %s --check-prefix=FUSED

// ORDER: IR Dump After canonicalize
// ORDER: IR Dump After cse
// ORDER: IR Dump After dce

// stdout carries the result alone.
// CLEAN-NOT: IR Dump
// CLEAN-NOT: cse
// CLEAN: builtin.module
// CLEAN-NOT: cse

// TIME-DAG: s  parse
// TIME-DAG: s  cse
// TIME-DAG: s  verify
// TIME-DAG: s  print

// FUSED-LABEL: func.func @main
// FUSED: func.call @fused_relu
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

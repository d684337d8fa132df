// RUN: fuse-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK-LABEL: func.func @first
func.func @first() { return }

// -----

// The places in later parts count the lines of the whole file.
// CHECK: split_input.mlir:11:6
// CHECK: operation {{.*}} is not registered
%0 = test_dialect.unknown

// -----

// CHECK: Operation does not verify: Expected 2 operands, but got 1
func.func @invalid(%x: f32) {
  %y = "arith.addf"(%x) : (f32) -> f32
  return
}

// -----

// CHECK-LABEL: func.func @last
func.func @last() { return }

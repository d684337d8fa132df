// RUN: not fuse-opt %s 2>&1 | filecheck %s

// A parse error shows its place, and the line with carets as notes.

// CHECK: syntax_errors.mlir:10:8: error: operation 'arith.adf' is not registered, did you mean 'arith.addf'?
// CHECK-NEXT: note:   %y = arith.adf %x, %x : f32
// CHECK-NEXT: note:        ^^^^^^^^^
// CHECK-NOT:  hint
func.func @misspelled(%x: f32) {
  %y = arith.adf %x, %x : f32
  return
}

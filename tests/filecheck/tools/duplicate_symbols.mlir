// RUN: not fuse-opt %s 2>&1 | filecheck %s

// CHECK: duplicate_symbols.mlir:7:1: error: {{.*}}edefinition of symbol "f"
// CHECK: note: {{.*}}duplicate_symbols.mlir:6:1: first defined here

func.func @f() { return }
func.func @f() { return }

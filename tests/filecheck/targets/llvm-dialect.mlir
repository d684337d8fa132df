// RUN: fuse-opt -t llvm %s | filecheck %s

// A module of the llvm dialect goes to xDSL's target.
// CHECK: define i64 @"identity"(i64 %".1")
llvm.func @identity(%x: i64) -> i64 {
  llvm.return %x : i64
}

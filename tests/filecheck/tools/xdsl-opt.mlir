// RUN: xdsl-opt %s -p 'fuse-ops-hw{template="nix.mlir"}' --verify-diagnostics | filecheck %s --check-prefix=FILE
// RUN: xdsl-opt %s -p 'fuse-ops-hw{template="opx"}' --verify-diagnostics | filecheck %s --check-prefix=NAME
// RUN: xdsl-opt %s -p 'fuse-insert-hardware{template="opx"}' --verify-diagnostics | filecheck %s --check-prefix=NAME
// RUN: xdsl-opt %s -p 'fuse-inline,fuse-fold-constants,fuse-compile-prefix{layout=keep}' -t fuse-dot | filecheck %s --check-prefix=GUEST
// RUN: fuse-opt %s -p 'fuse-inline,inline' -t fuse-dot | filecheck %s --check-prefix=GUEST
// RUN: xdsl-opt %s -p 'fuse-ops{max-function-args=-1}' --verify-diagnostics | filecheck %s --check-prefix=VALUE

// Names say whose they are; in fuse-opt short ones do, too.
// GUEST: digraph

// What a pass rejects, xDSL's own driver prints as an error of the pass.
// FILE: nix.mlir: error: cannot read the hardware template: no such file or directory
// NAME: error: no hardware template 'opx'
// NAME-NEXT: hint: did you mean 'opu'?
// VALUE: option 'max-function-args' expects 0 or more, got -1
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

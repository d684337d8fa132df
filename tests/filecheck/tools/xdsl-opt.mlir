// RUN: xdsl-opt %s -p 'fuse-ops-hw{template="nix.mlir"}' --verify-diagnostics | filecheck %s --check-prefix=FILE
// RUN: xdsl-opt %s -p 'fuse-ops-hw{template="opx"}' --verify-diagnostics | filecheck %s --check-prefix=NAME
// RUN: xdsl-opt %s -p 'insert-hardware{template="opx"}' --verify-diagnostics | filecheck %s --check-prefix=NAME
// RUN: xdsl-opt %s -p 'fuse-ops{max-function-args=-1}' --verify-diagnostics | filecheck %s --check-prefix=VALUE

// What a pass rejects, xDSL's own driver prints as an error of the pass.
// FILE: nix.mlir: error: cannot read the hardware template: no such file or directory
// NAME: error: no hardware template 'opx'
// NAME-NEXT: hint: did you mean 'opu'?
// VALUE: option 'max-function-args' expects 0 or more, got -1
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = fuse.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

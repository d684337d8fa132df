// RUN: not fuse-run %s 2>&1 | filecheck %s --check-prefix=INPUTS
// RUN: not fuse-run %s --entry nowhere 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not fuse-run %s --entry unknown 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not fuse-run %s --entry endless 2>&1 | filecheck %s --check-prefix=ENDLESS
// RUN: not fuse-run %s --atol -1 2>&1 | filecheck %s --check-prefix=USAGE

// ENTRY:      fuse-run-invalid.mlir: error: no function 'nowhere' in the module; there are 'main', 'unknown', 'endless'
// USAGE:      error: argument --atol: expected 0 or more, got -1

// Inputs are never made up unasked.
// INPUTS:      fuse-run-invalid.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'main' needs inputs: x
// INPUTS-NEXT: hint: give --inputs FILE.npz or --random-inputs SEED
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// Ops of other dialects have no meaning here.
// UNKNOWN:      fuse-run-invalid.mlir:{{[0-9]+}}:8: error: 'tensor.empty' op has no meaning in the NumPy interpreter
func.func @unknown() -> tensor<4xf32> {
  %x = tensor.empty() : tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// A function that calls itself is stopped before Python's stack is.
// ENDLESS:      error: 'func.call' op exceeds 128 calls within calls
func.func @endless() {
  func.call @endless() : () -> ()
  func.return
}

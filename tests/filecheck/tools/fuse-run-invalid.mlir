// RUN: not fuse-run %s 2>&1 | filecheck %s --check-prefix=INPUTS
// RUN: not fuse-run %s --entry nowhere 2>&1 | filecheck %s --check-prefix=ENTRY
// RUN: not fuse-run %s --entry unknown 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not fuse-run %s --entry endless 2>&1 | filecheck %s --check-prefix=ENDLESS
// RUN: not fuse-run %s --entry large --random-inputs 0 2>&1 | filecheck %s --check-prefix=LARGE
// RUN: not fuse-run %s --atol -1 2>&1 | filecheck %s --check-prefix=USAGE

// ENTRY:      fuse-run-invalid.mlir: error: no function 'nowhere' in the module; there are 'main', 'unknown', 'endless', 'large'
// USAGE:      error: argument --atol: expected 0 or more, got -1

// Inputs are never made up unasked.
// INPUTS:      fuse-run-invalid.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'main' needs inputs: x
// INPUTS-NEXT: hint: give --inputs FILE.npz or --random-inputs SEED
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// Ops on buffers have no meaning here.
// UNKNOWN:      fuse-run-invalid.mlir:{{[0-9]+}}:8: error: 'memref.alloc' op has no meaning in the NumPy interpreter
// UNKNOWN:      hint: it is kept as it is, and does not run: docs/how-to/run-foreign-dialects.md says what does
func.func @unknown() {
  %x = memref.alloc() : memref<4xf32>
  func.return
}

// A function that calls itself is stopped before Python's stack is.
// ENDLESS:      error: 'func.call' op exceeds 128 calls within calls
func.func @endless() {
  func.call @endless() : () -> ()
  func.return
}

// A value of terabytes is refused before anything runs.
// LARGE:      fuse-run-invalid.mlir:{{[0-9]+}}:8: error: 'fuse.broadcast_to' op has a value of type tensor<1000000x1000000x4xf32>: 16000000000000 bytes, more than the 4294967296 that one may take
// LARGE:      hint: --max-value-bytes raises the limit
func.func @large(%x: tensor<4xf32>) -> tensor<f32> {
  %y = fuse.broadcast_to %x : (tensor<4xf32>) -> tensor<1000000x1000000x4xf32>
  %z = fuse.sum %y : (tensor<1000000x1000000x4xf32>) -> tensor<f32>
  func.return %z : tensor<f32>
}

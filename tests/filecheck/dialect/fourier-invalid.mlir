// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// An axis twice.
// CHECK: 'fuse.fft' op expects one axis or more, each once, got [0, -2]
func.func @f(%a: tensor<4x8xf32>) {
  %r:2 = fuse.fft %a, %a, axes = [0, -2] : (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// -----

// Half of another length.
// CHECK: 'fuse.irfft' op expects equal sizes of half of 'length', rounded down, and one, and the last axis, got 6 and 8
func.func @f(%a: tensor<4x8xf32>) {
  %r = fuse.irfft %a, %a, length = 10 : (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// -----

// A transform of nothing.
// CHECK: 'fuse.rfft' op expects at least one element on each axis of the transform
func.func @f(%a: tensor<4x0xf32>) {
  %r:2 = fuse.rfft %a : (tensor<4x0xf32>)
  return
}

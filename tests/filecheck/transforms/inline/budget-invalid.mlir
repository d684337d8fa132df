// RUN: fuse-opt %s --inline="max-ops=3" --verify-diagnostics | filecheck %s

// Functions that call functions twice double at every level.
// CHECK: 'func.call' op cannot be replaced by the 4 ops of '@b': with those before it, that is more than 'max-ops' allows
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.exp %x : tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

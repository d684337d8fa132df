// RUN: xdsl-opt %s -p defuse-ops --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p fuse-extract-primitives --split-input-file --verify-diagnostics | filecheck %s --check-prefix=EXTRACT

// Calls in a block that stands above the one that runs before it.
func.func private @p(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %y = fuse.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @q(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %y = fuse.tanh %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb2:
  %t = func.call @q(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %t : tensor<4xf32>
^bb1:
  %y = func.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb2
}
// CHECK-LABEL: func.func @main
// CHECK:         %t = fuse.tanh %y
// CHECK:         %y = fuse.relu %x

// -----

// A primitive that is not in SSA order.
func.func private @p(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %y = fuse.relu %z : tensor<4xf32>
  %z = fuse.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK:   'fuse.relu' op reads a result of 'fuse.relu', which stands below it
// EXTRACT: 'fuse.relu' op reads a result of 'fuse.relu', which stands below it

// RUN: xdsl-opt %s -p fuse-ops --split-input-file --verify-diagnostics --parsing-diagnostics --allow-unregistered-dialect | filecheck %s

// xdsl-opt does not verify that a value is defined before it is read; the pass does.
// CHECK: 'fuse.exp' op reads a result of 'fuse.tanh', which stands below it
func.func @not_in_ssa_order(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.exp %1 : tensor<8xf32>
  %1 = fuse.tanh %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// CHECK: 'fuse.add' op reads its own result
func.func @cycle_of_one(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.add %x, %0 : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// CHECK: 'fuse.add' op reads a result of 'fuse.exp', which stands below it
func.func @cycle_of_two(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.add %x, %1 : tensor<8xf32>
  %1 = fuse.exp %0 : tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// -----

// CHECK: 'mine.op' op attribute 'fuse.pattern_kind' is no pattern kind: "elemwise"
func.func @kind_as_string(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "mine.op"(%x) {fuse.pattern_kind = "elemwise"} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

// CHECK: unknown pattern kind 'elementwise', expected one of elemwise, broadcast, injective
func.func @unknown_kind(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "mine.op"(%x) {fuse.pattern_kind = #fuse.pattern_kind<elementwise>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

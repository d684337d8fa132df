// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// Each branch is a graph of its own; what it captures from outside is an argument of its primitives, and escapes there.
func.func @branches(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.tanh %0 : tensor<8xf32>
  %2 = scf.if %c -> (tensor<8xf32>) {
    %3 = fuse.relu %1 : tensor<8xf32>
    %4 = fuse.sigmoid %3 : tensor<8xf32>
    scf.yield %4 : tensor<8xf32>
  } else {
    %5 = fuse.negative %1 : tensor<8xf32>
    scf.yield %5 : tensor<8xf32>
  }
  %6 = fuse.abs %2 : tensor<8xf32>
  func.return %6 : tensor<8xf32>
}
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    [[T:%.*]] = func.call @fused_exp_tanh(%x)
// CHECK-NEXT:    scf.if %c
// CHECK-NEXT:      func.call @fused_relu_sigmoid([[T]])
// CHECK:           func.call @fused_negative([[T]])
// CHECK:         func.call @fused_abs(

// Blocks of one region are graphs too; a value that another block reads escapes.
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.tanh %0 : tensor<8xf32>
  cf.br ^next
^next:
  %2 = fuse.add %0, %1 : tensor<8xf32>
  %3 = fuse.relu %2 : tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT:    [[E:%.*]] = func.call @fused_exp(%x)
// CHECK-NEXT:    [[T:%.*]] = func.call @fused_tanh([[E]])
// CHECK-NEXT:    cf.br
// CHECK:         func.call @fused_add_relu([[E]], [[T]])

// An operator that holds a region moves as a whole, with what the region captures as arguments.
func.func @operator_with_region(%x: tensor<8xf32>, %bias: f32) -> tensor<8xf32> {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = "mine.map"(%0) ({
  ^body(%e: f32):
    %s = arith.addf %e, %bias : f32
    "mine.yield"(%s) : (f32) -> ()
  }) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}
// CHECK-LABEL: func.func @operator_with_region
// CHECK-NEXT:    func.call @fused_exp_map(%x, %bias) : (tensor<8xf32>, f32) -> tensor<8xf32>
// CHECK-LABEL: func.func private @fused_exp_map(%x: tensor<8xf32>, %bias: f32)
// CHECK:           arith.addf %e, %bias : f32

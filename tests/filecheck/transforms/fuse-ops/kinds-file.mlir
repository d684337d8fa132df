// RUN: fuse-opt %s --kinds %S/Inputs/kinds.toml --fuse-ops --allow-unregistered-dialect | filecheck %s

// Ops of a dialect that nobody has registered fuse by what a file says of their names.
func.func @by_name(%x: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = "npu.matmul"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "npu.add_bias"(%0, %b) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = "npu.gelu"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func private @fused_matmul_add_bias_gelu
// CHECK:      "npu.matmul"({{.*}}) {fuse.pattern_kind = #fuse.pattern_kind<out_ewise_fusable>}
// CHECK-NEXT: "npu.add_bias"({{.*}}) {fuse.pattern_kind = #fuse.pattern_kind<broadcast>}
// CHECK-NEXT: "npu.gelu"({{.*}}) {fuse.pattern_kind = #fuse.pattern_kind<elemwise>}

// What the op says itself wins over the file: it is a barrier to all.
func.func @by_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "npu.gelu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "npu.tanh"(%0) {fuse.pattern_kind = #fuse.pattern_kind<opaque>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @fused_gelu(
// CHECK-LABEL: func.func private @fused_tanh(
// CHECK:       #fuse.pattern_kind<opaque>

// The edge of an accumulator is elementwise, so that what makes it joins; that of a factor is not.
func.func @edges(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "npu.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "npu.matmul_acc"(%x, %x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "npu.log"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "npu.matmul_acc"(%2, %x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func private @fused_exp_matmul_acc_log(
// CHECK:       fuse.edge_kinds = [#fuse.pattern_kind<out_ewise_fusable>, #fuse.pattern_kind<out_ewise_fusable>, #fuse.pattern_kind<elemwise>]
// CHECK-LABEL: func.func private @fused_matmul_acc(

// A primitive of views alone is marked.
func.func @views(%x: tensor<8xf32>) -> tensor<2x4xf32> {
  %0 = "npu.view"(%x) : (tensor<8xf32>) -> tensor<4x2xf32>
  %1 = "npu.view"(%0) : (tensor<4x2xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}
// CHECK-LABEL: func.func private @fused_view_view
// CHECK-SAME:  attributes {primitive, fuse.reshape_only}

// A row makes no operator of what has no results: it stays a barrier, and has no kind.
func.func @no_results(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "npu.sort"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  "npu.store"(%0) : (tensor<8xf32>) -> ()
  func.return %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @no_results
// CHECK:       "npu.store"(%{{.*}}) : (

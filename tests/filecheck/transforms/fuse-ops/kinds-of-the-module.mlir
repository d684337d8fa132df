// RUN: xdsl-opt %s -p fuse-ops --allow-unregistered-dialect | filecheck %s
// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s
// RUN: fuse-opt %s --fusion-remarks --fuse-ops --allow-unregistered-dialect 2>&1 >%t | filecheck %s --check-prefix=REMARKS

// A module brings the kinds of its ops along, for tools that know of no files.
// CHECK: fuse.kinds = [
builtin.module attributes {fuse.kinds = [
  {name = "npu.*", kind = #fuse.pattern_kind<elemwise>},
  {name = "npu.matmul", kind = #fuse.pattern_kind<out_ewise_fusable>,
   edges = [#fuse.pattern_kind<out_ewise_fusable>, #fuse.pattern_kind<opaque>]},
  {name = "npu.view", kind = #fuse.pattern_kind<injective>, reshape_only},
  {name = "npu.flat", kind = #fuse.pattern_kind<injective>, reshape_only = false}
]} {
  // REMARKS: 'npu.exp' op not fused into 'npu.matmul': edge-kind
  func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "npu.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "npu.matmul"(%x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "npu.gelu"(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    func.return %2 : tensor<4x4xf32>
  }
  // CHECK-LABEL: func.func private @fused_exp(
  // CHECK-LABEL: func.func private @fused_matmul_gelu(
  // CHECK:       fuse.edge_kinds = [#fuse.pattern_kind<out_ewise_fusable>, #fuse.pattern_kind<opaque>]
  func.func @views(%x: tensor<8xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>) {
    %0 = "npu.view"(%x) : (tensor<8xf32>) -> tensor<4x2xf32>
    %1 = "npu.flat"(%x) : (tensor<8xf32>) -> tensor<2x4xf32>
    func.return %0, %1 : tensor<4x2xf32>, tensor<2x4xf32>
  }
  // CHECK-LABEL: func.func private @fused_view(
  // CHECK-SAME:  attributes {primitive, fuse.reshape_only}
  // CHECK-LABEL: func.func private @fused_flat(
  // CHECK-SAME:  attributes {primitive} {
}

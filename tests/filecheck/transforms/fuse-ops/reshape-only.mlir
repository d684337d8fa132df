// RUN: fuse-opt %s --fuse-ops --allow-unregistered-dialect | filecheck %s

// A primitive of nothing but reshapes is marked, however many they are.
func.func @reshapes(%x: tensor<2x4x1xf32>) -> tensor<2x2x2xf32> {
  %0 = fuse.squeeze %x, axes = [2] : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
  %1 = fuse.reshape %0 : (tensor<2x4xf32>) -> tensor<2x2x2xf32>
  func.return %1 : tensor<2x2x2xf32>
}
// CHECK-LABEL: func.func private @fused_squeeze_reshape
// CHECK-SAME:  attributes {primitive, fuse.reshape_only}

// One operator that computes, or moves elements, is enough to lose the mark.
func.func @reshape_and_more(%x: tensor<2x4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = fuse.exp %x : tensor<2x4xf32>
  %1 = fuse.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>
  %2 = fuse.transpose %x, permutation = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %3 = fuse.reshape %2 : (tensor<4x2xf32>) -> tensor<8xf32>
  func.return %1, %3 : tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func private @fused_exp_reshape
// CHECK-SAME:  attributes {primitive} {
// CHECK-LABEL: func.func private @fused_transpose_reshape
// CHECK-SAME:  attributes {primitive} {

// Foreign ops: by name, or by the attribute.
func.func @foreign(%x: tensor<8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "stablehlo.reshape"(%x) : (tensor<8xf32>) -> tensor<2x4xf32>
  %1 = "mine.view"(%x) {fuse.pattern_kind = #fuse.pattern_kind<injective>, fuse.reshape_only} : (tensor<8xf32>) -> tensor<2x4xf32>
  %2 = "mine.copy"(%x) {fuse.pattern_kind = #fuse.pattern_kind<injective>} : (tensor<8xf32>) -> tensor<2x4xf32>
  func.return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: func.func private @fused_reshape(
// CHECK-SAME:  attributes {primitive, fuse.reshape_only}
// CHECK-LABEL: func.func private @fused_view
// CHECK-SAME:  attributes {primitive, fuse.reshape_only}
// CHECK-LABEL: func.func private @fused_copy
// CHECK-SAME:  attributes {primitive} {

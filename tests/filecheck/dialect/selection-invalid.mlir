// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.unique' op expects axes in [-2, 2) for rank 2, got 2
func.func @axis_out_of_range(%a: tensor<3x4xf32>) {
  %0, %1, %2, %3 = fuse.unique %a, axis = 2 : (tensor<3x4xf32>)
  return
}

// -----

// CHECK: 'fuse.non_max_suppression' op expects equal sizes of the boxes of 'boxes' and of 'scores', got 6 and 5
func.func @boxes_without_score(%b: tensor<1x6x4xf32>, %s: tensor<1x2x5xf32>, %n: tensor<i64>, %t: tensor<f32>) {
  %0 = fuse.non_max_suppression %b, %s, %n, %t, %t : (tensor<1x6x4xf32>, tensor<1x2x5xf32>, tensor<i64>, tensor<f32>, tensor<f32>)
  return
}

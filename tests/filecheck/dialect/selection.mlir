// RUN: FUSE_ROUNDTRIP

// How many elements are distinct is known when it runs.
// CHECK-LABEL: func.func @distinct_elements_are_listed
func.func @distinct_elements_are_listed(%a: tensor<3x4xf32>) {
  // CHECK: fuse.unique %a : (tensor<3x4xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<12xi64>, tensor<?xi64>)
  %0, %1, %2, %3 = fuse.unique %a : (tensor<3x4xf32>)
  // CHECK: fuse.unique %a, axis = 0, sorted = false : (tensor<3x4xf32>) -> (tensor<?x4xf32>, tensor<?xi64>, tensor<3xi64>, tensor<?xi64>)
  %4, %5, %6, %7 = fuse.unique %a, axis = 0, sorted = false : (tensor<3x4xf32>)
  return
}

// Limits and thresholds are data.
// CHECK-LABEL: func.func @boxes_are_kept
func.func @boxes_are_kept(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %n: tensor<i64>, %i: tensor<f32>, %t: tensor<f32>) {
  // CHECK: fuse.non_max_suppression %b, %s, %n, %i, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
  %0 = fuse.non_max_suppression %b, %s, %n, %i, %t : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<f32>, tensor<f32>)
  return
}

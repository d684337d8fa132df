// RUN: FUSE_ROUNDTRIP

// A known size of one operand is the size of all.
// CHECK-LABEL: func.func @sizes_add_up_on_the_axis
func.func @sizes_add_up_on_the_axis(%a: tensor<2x?xf32>, %b: tensor<?x3xf32>, %c: tensor<2x3xf32>) {
  // CHECK: fuse.concatenate %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = fuse.concatenate %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>)
  // CHECK: fuse.concatenate %a, %c, axis = -1 : (tensor<2x?xf32>, tensor<2x3xf32>) -> tensor<2x?xf32>
  %1 = fuse.concatenate %a, %c, axis = -1 : (tensor<2x?xf32>, tensor<2x3xf32>)
  // CHECK: fuse.concatenate %c : tensor<2x3xf32>
  %2 = fuse.concatenate %c : tensor<2x3xf32>
  // CHECK: fuse.stack %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x2x3xf32>
  %3 = fuse.stack %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>)
  // CHECK: fuse.stack %c, axis = -1 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %4 = fuse.stack %c, axis = -1 : (tensor<2x3xf32>)
  return
}

// Results of one size and of several.
// CHECK-LABEL: func.func @split_has_a_result_for_each_size
func.func @split_has_a_result_for_each_size(%a: tensor<2x?xf32>, %b: tensor<?x6xi64>) {
  // CHECK: fuse.split %a, sizes = [1, 1] : (tensor<2x?xf32>) -> (tensor<1x?xf32>, tensor<1x?xf32>)
  %0, %1 = fuse.split %a, sizes = [1, 1] : (tensor<2x?xf32>)
  // CHECK: fuse.split %b, axis = -1, sizes = [1, 0, 5] : (tensor<?x6xi64>) -> (tensor<?x1xi64>, tensor<?x0xi64>, tensor<?x5xi64>)
  %2, %3, %4 = fuse.split %b, axis = -1, sizes = [1, 0, 5] : (tensor<?x6xi64>)
  // CHECK: fuse.split %a, sizes = [2] : tensor<2x?xf32>
  %5 = fuse.split %a, sizes = [2] : tensor<2x?xf32>
  return
}

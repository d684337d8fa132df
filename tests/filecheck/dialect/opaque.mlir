// RUN: FUSE_ROUNDTRIP

// Indices are i64, or i32 where the result type says so.
// CHECK-LABEL: func.func @lines_are_sorted_and_summed
func.func @lines_are_sorted_and_summed(%a: tensor<?x4xf32>, %i: tensor<4xi32>, %l: tensor<4xi64>) {
  // CHECK: fuse.sort %a : tensor<?x4xf32>
  %0 = fuse.sort %a : tensor<?x4xf32>
  // CHECK: fuse.sort %a, axis = 0, is_ascend = false : tensor<?x4xf32>
  %1 = fuse.sort %a, axis = 0, is_ascend = false : tensor<?x4xf32>
  // CHECK: fuse.argsort %a : (tensor<?x4xf32>) -> tensor<?x4xi64>
  %2 = fuse.argsort %a : (tensor<?x4xf32>)
  // CHECK: fuse.argsort %a, axis = 0, is_ascend = false : (tensor<?x4xf32>) -> tensor<?x4xi32>
  %3 = fuse.argsort %a, axis = 0, is_ascend = false : (tensor<?x4xf32>) -> tensor<?x4xi32>
  // CHECK: fuse.argsort %i : (tensor<4xi32>) -> tensor<4xi32>
  %4 = fuse.argsort %i : (tensor<4xi32>) -> tensor<4xi32>
  // CHECK: fuse.argsort %l : tensor<4xi64>
  %5 = fuse.argsort %l : tensor<4xi64>
  // CHECK: fuse.topk %a, k = 2 : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %6, %7 = fuse.topk %a, k = 2 : (tensor<?x4xf32>)
  // CHECK: fuse.topk %a, k = 2, axis = 0, is_ascend = true : (tensor<?x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  %8, %9 = fuse.topk %a, k = 2, axis = 0, is_ascend = true : (tensor<?x4xf32>)
  // CHECK: fuse.cumsum %a, axis = 1 : tensor<?x4xf32>
  %10 = fuse.cumsum %a, axis = 1 : tensor<?x4xf32>
  // CHECK: fuse.cumsum %i, axis = -1, exclusive = true, reverse = true : tensor<4xi32>
  %11 = fuse.cumsum %i, axis = -1, exclusive = true, reverse = true : tensor<4xi32>
  return
}

// Inference leaves dropout nothing to do.
// CHECK-LABEL: func.func @elements_are_normalized_or_kept
func.func @elements_are_normalized_or_kept(%a: tensor<?x4xf32>) {
  // CHECK: fuse.lrn %a : tensor<?x4xf32>
  %0 = fuse.lrn %a : tensor<?x4xf32>
  // CHECK: fuse.lrn %a, size = 3, axis = 0, bias = 2.0, alpha = 0.5, beta = 1.5 : tensor<?x4xf32>
  %1 = fuse.lrn %a, size = 3, axis = 0, bias = 2.0, alpha = 0.5, beta = 1.5 : tensor<?x4xf32>
  // CHECK: fuse.dropout %a : tensor<?x4xf32>
  %2 = fuse.dropout %a : tensor<?x4xf32>
  // CHECK: fuse.dropout %a, rate = 0.1 : tensor<?x4xf32>
  %3 = fuse.dropout %a, rate = 0.1 : tensor<?x4xf32>
  // CHECK: fuse.stop_fusion %a : tensor<?x4xf32>
  %4 = fuse.stop_fusion %a : tensor<?x4xf32>
  return
}

// Indices name slices or elements.
// CHECK-LABEL: func.func @updates_are_scattered
func.func @updates_are_scattered(%a: tensor<?x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x?xf32>, %j: tensor<?x2xi32>, %v: tensor<?xf32>) {
  // CHECK: fuse.scatter_nd %a, %i, %u : (tensor<?x4xf32>, tensor<3x1xi64>, tensor<3x?xf32>) -> tensor<?x4xf32>
  %0 = fuse.scatter_nd %a, %i, %u : (tensor<?x4xf32>, tensor<3x1xi64>, tensor<3x?xf32>)
  // CHECK: fuse.scatter_nd %a, %j, %v, mode = "max" : (tensor<?x4xf32>, tensor<?x2xi32>, tensor<?xf32>) -> tensor<?x4xf32>
  %1 = fuse.scatter_nd %a, %j, %v, mode = "max" : (tensor<?x4xf32>, tensor<?x2xi32>, tensor<?xf32>)
  return
}

// A size that is not known may be stated.
// CHECK-LABEL: func.func @sizes_may_depend_on_data
func.func @sizes_may_depend_on_data(%a: tensor<?x4xf32>, %s: tensor<i1>) {
  // CHECK: fuse.arange stop = 5.0 -> tensor<5xf32>
  %0 = fuse.arange stop = 5.0 -> tensor<5xf32>
  // CHECK: fuse.arange start = 3.0, stop = -1.0, step = -0.5 -> tensor<?xf64>
  %1 = fuse.arange start = 3.0, stop = -1.0, step = -0.5 -> tensor<?xf64>
  // CHECK: fuse.argwhere %a : (tensor<?x4xf32>) -> tensor<?x2xi64>
  %2 = fuse.argwhere %a : (tensor<?x4xf32>)
  // CHECK: fuse.argwhere %s : (tensor<i1>) -> tensor<1x0xi64>
  %3 = fuse.argwhere %s : (tensor<i1>) -> tensor<1x0xi64>
  return
}

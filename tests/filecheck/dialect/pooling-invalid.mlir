// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.max_pool2d' op expects 'input' of rank 4, got rank 3 (1x1x4)
func.func @rank(%a: tensor<1x1x4xf32>) {
  %r = fuse.max_pool2d %a, pool_size = [2, 2] : (tensor<1x1x4xf32>)
  return
}

// -----

// CHECK: 'fuse.max_pool2d' op expects numbers, got i1
func.func @booleans(%a: tensor<1x1x4x4xi1>) {
  %r = fuse.max_pool2d %a, pool_size = [2, 2] : (tensor<1x1x4x4xi1>)
  return
}

// -----

// CHECK: 'fuse.max_pool2d' op expects 2 numbers in pool_size, got 1 ([2])
func.func @one_size(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.max_pool2d %a, pool_size = [2] : (tensor<1x1x4x4xf32>)
  return
}

// -----

// CHECK: 'fuse.max_pool2d' op expects windows that fit, got a window of 5 on 4 elements with padding (spatial axis 0)
func.func @window_too_large(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.max_pool2d %a, pool_size = [5, 2] : (tensor<1x1x4x4xf32>)
  return
}

// -----

// CHECK: 'fuse.max_pool2d' op expects layout to be 'NCHW' or 'NHWC', got 'CHWN'
func.func @unknown_layout(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.max_pool2d %a, pool_size = [2, 2], layout = "CHWN" : (tensor<1x1x4x4xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<1x1x3x3xf32>, got tensor<1x1x4x4xf32>
func.func @result_of_another_size(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.max_pool2d %a, pool_size = [2, 2] : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return
}

// -----

// CHECK: 'fuse.avg_pool2d' op expects floating-point elements, got i32
func.func @average_of_integers(%a: tensor<1x1x4x4xi32>) {
  %r = fuse.avg_pool2d %a, pool_size = [2, 2] : (tensor<1x1x4x4xi32>)
  return
}

// -----

// CHECK: 'fuse.global_avg_pool2d' op expects 'input' of rank 4, got rank 3 (1x1x4)
func.func @average_of_rank_three(%a: tensor<1x1x4xf32>) {
  %r = fuse.global_avg_pool2d %a : (tensor<1x1x4xf32>)
  return
}

// -----

// CHECK: 'fuse.global_max_pool2d' op expects 'input' of rank 4, got rank 3 (1x1x4)
func.func @maximum_of_rank_three(%a: tensor<1x1x4xf32>) {
  %r = fuse.global_max_pool2d %a : (tensor<1x1x4xf32>)
  return
}

// -----

// CHECK: 'fuse.adaptive_avg_pool2d' op expects output_size of at least 1, got [0, 1]
func.func @result_of_size_zero(%a: tensor<1x1x4x4xf32>) {
  %r = fuse.adaptive_avg_pool2d %a, output_size = [0, 1] : (tensor<1x1x4x4xf32>)
  return
}

// RUN: FUSE_ROUNDTRIP

// Without axes everything is reduced.
// CHECK-LABEL: func.func @all_axes
func.func @all_axes(%x: tensor<4x?xf32>, %b: tensor<4x?xi1>) {
  // CHECK-NEXT: %sum = fuse.sum %x : (tensor<4x?xf32>) -> tensor<f32>
  %sum = fuse.sum %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %mean = fuse.mean %x : (tensor<4x?xf32>) -> tensor<f32>
  %mean = fuse.mean %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %variance = fuse.variance %x : (tensor<4x?xf32>) -> tensor<f32>
  %variance = fuse.variance %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %max = fuse.max %x : (tensor<4x?xf32>) -> tensor<f32>
  %max = fuse.max %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %min = fuse.min %x : (tensor<4x?xf32>) -> tensor<f32>
  %min = fuse.min %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %prod = fuse.prod %x : (tensor<4x?xf32>) -> tensor<f32>
  %prod = fuse.prod %x : (tensor<4x?xf32>)
  // CHECK-NEXT: %any = fuse.any %b : (tensor<4x?xi1>) -> tensor<i1>
  %any = fuse.any %b : (tensor<4x?xi1>)
  // CHECK-NEXT: %all = fuse.all %b : (tensor<4x?xi1>) -> tensor<i1>
  %all = fuse.all %b : (tensor<4x?xi1>)
  return
}

// Axes are counted from either end; reduced ones vanish or stay as 1.
// CHECK-LABEL: func.func @some_axes
func.func @some_axes(%x: tensor<2x?x4xf16>) {
  // CHECK-NEXT: %last = fuse.sum %x, axes = [-1] : (tensor<2x?x4xf16>) -> tensor<2x?xf16>
  %last = fuse.sum %x, axes = [-1] : (tensor<2x?x4xf16>)
  // CHECK-NEXT: %outer = fuse.mean %x, axes = [2, 0] : (tensor<2x?x4xf16>) -> tensor<?xf16>
  %outer = fuse.mean %x, axes = [2, 0] : (tensor<2x?x4xf16>)
  // CHECK-NEXT: %kept = fuse.max %x, axes = [1], keepdims = true : (tensor<2x?x4xf16>) -> tensor<2x1x4xf16>
  %kept = fuse.max %x, axes = [1], keepdims = true : (tensor<2x?x4xf16>)
  // CHECK-NEXT: %ones = fuse.min %x, keepdims = true : (tensor<2x?x4xf16>) -> tensor<1x1x1xf16>
  %ones = fuse.min %x, keepdims = true : (tensor<2x?x4xf16>)
  return
}

// No axes, and axes of size 1 that stay, leave the type as it is.
// CHECK-LABEL: func.func @unchanged
func.func @unchanged(%x: tensor<1x4xi32>) {
  // CHECK-NEXT: %none = fuse.prod %x, axes = [] : tensor<1x4xi32>
  %none = fuse.prod %x, axes = [] : tensor<1x4xi32>
  // CHECK-NEXT: %one = fuse.sum %x, axes = [0], keepdims = true : tensor<1x4xi32>
  %one = fuse.sum %x, axes = [0], keepdims = true : tensor<1x4xi32>
  return
}

// Variance may divide by one less than the count.
// CHECK-LABEL: func.func @unbiased
func.func @unbiased(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %y = fuse.variance %x, unbiased = true, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = fuse.variance %x, unbiased = true, axes = [1], keepdims = true : (tensor<4x8xf32>)
  // CHECK-NEXT: %z = fuse.variance %x, axes = [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  %z = fuse.variance %x, axes = [0], unbiased = false : (tensor<4x8xf32>)
  return
}

// Indices are i64, or i32 when the result type says so.
// CHECK-LABEL: func.func @indices
func.func @indices(%x: tensor<4x?xf32>, %n: tensor<i32>) {
  // CHECK-NEXT: %argmax = fuse.argmax %x, axes = [1] : (tensor<4x?xf32>) -> tensor<4xi64>
  %argmax = fuse.argmax %x, axes = [1] : (tensor<4x?xf32>)
  // CHECK-NEXT: %argmin = fuse.argmin %x, axes = [-2], keepdims = true : (tensor<4x?xf32>) -> tensor<1x?xi64>
  %argmin = fuse.argmin %x, axes = [-2], keepdims = true : (tensor<4x?xf32>)
  // CHECK-NEXT: %flat = fuse.argmax %x, select_last_index = true : (tensor<4x?xf32>) -> tensor<i64>
  %flat = fuse.argmax %x, select_last_index = true : (tensor<4x?xf32>)
  // CHECK-NEXT: %small = fuse.argmin %x, axes = [0] : (tensor<4x?xf32>) -> tensor<?xi32>
  %small = fuse.argmin %x, axes = [0] : (tensor<4x?xf32>) -> tensor<?xi32>
  // CHECK-NEXT: %i32_of_i32 = fuse.argmax %n : (tensor<i32>) -> tensor<i32>
  %i32_of_i32 = fuse.argmax %n : (tensor<i32>) -> tensor<i32>
  // CHECK-NEXT: %i64_of_i32 = fuse.argmax %n : (tensor<i32>) -> tensor<i64>
  %i64_of_i32 = fuse.argmax %n : (tensor<i32>)
  return
}

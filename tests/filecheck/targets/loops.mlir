// RUN: fuse-opt --fuse-ops -t loops %s | filecheck %s
// RUN: fuse-opt --fuse-ops -t 'loops{simplified=false function="fused_dense_bias_add_relu"}' %s | filecheck %s --check-prefix=PLAIN
// RUN: fuse-opt --fuse-ops="strategy=cost" -t loops --target-cpu haswell %s | filecheck %s --check-prefix=PLANNED

// Loops are those of no machine, but a plan may be for one.
// PLANNED: program @fused_conv2d_bias_add_relu

// A convolution with its epilogue is one stage: the epilogue runs on the total.
// CHECK-LABEL: program @fused_conv2d_bias_add_relu
// CHECK-NEXT:    argument image : 1x3x8x8xf32
// CHECK-NEXT:    argument kernel : 4x3x3x3xf32
// CHECK-NEXT:    argument bias : 4xf32
// CHECK-NEXT:    result active : 1x4x8x8xf32
// CHECK-NEXT:    stage conv2d_bias_add_relu writes active
// CHECK-NEXT:      for i0 < 1, i1 < 4, i2 < 8, i3 < 8
// CHECK-NEXT:        add from 0.0 : f32 over r4 < 3, r5 < 3, r6 < 3
// CHECK-NEXT:          %0 = image[0, r4, i2 + r5 - 1, i3 + r6 - 1] where 0 <= i2 + r5 - 1 < 8 and 0 <= i3 + r6 - 1 < 8 else 0.0 : f32  // conv2d
// CHECK-NEXT:          %1 = kernel[i1, r4, r5, r6] : f32  // conv2d
// CHECK-NEXT:          %2 = arith.mulf %0, %1 : f32  // conv2d
// CHECK-NEXT:        then, %0 being the total
// CHECK-NEXT:          %1 = bias[i1] : f32  // bias_add
// CHECK-NEXT:          %2 = arith.addf %0, %1 : f32  // bias_add
// CHECK-NEXT:          %3 = 0.0 : f32
// CHECK-NEXT:          %4 = arith.maximumf %2, %3 : f32  // relu
// CHECK-NEXT:        store active[i0, i1, i2, i3]
func.func @conv(%image: tensor<1x3x8x8xf32>, %kernel: tensor<4x3x3x3xf32>, %bias: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %conv = fuse.conv2d %image, %kernel, padding = [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  %biased = fuse.bias_add %conv, %bias : (tensor<1x4x8x8xf32>, tensor<4xf32>)
  %active = fuse.relu %biased : tensor<1x4x8x8xf32>
  return %active : tensor<1x4x8x8xf32>
}

// Without simplification every operator is a stage.
// PLAIN:      program @fused_dense_bias_add_relu
// PLAIN:        stage dense writes product
// PLAIN:        stage bias_add writes biased
// PLAIN:        stage relu writes active
// PLAIN-NOT:  program

// Moves are indices: a reshape is a division, a transpose an order, a slice an offset.
// CHECK-LABEL: program @fused_dense_bias_add_relu
// CHECK:         stage dense_bias_add_relu writes active
// CHECK-LABEL: program @fused_transpose_strided_slice_reshape
// CHECK:           for i0 < 4, i1 < 6
// CHECK-NEXT:        %0 = x[i1 % 2 + 1, i0, i1 // 2] : f32  // transpose
func.func @dense_and_moves(%a: tensor<2x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %x: tensor<3x4x3xf32>) -> (tensor<2x4xf32>, tensor<4x6xf32>) {
  %product = fuse.dense %a, %w : (tensor<2x8xf32>, tensor<4x8xf32>)
  %biased = fuse.bias_add %product, %b : (tensor<2x4xf32>, tensor<4xf32>)
  %active = fuse.relu %biased : tensor<2x4xf32>
  %moved = fuse.transpose %x, permutation = [1, 2, 0] : (tensor<3x4x3xf32>)
  %cut = fuse.strided_slice %moved, begin = [1], end = [3], axes = [2] : (tensor<4x3x3xf32>)
  %joined = fuse.reshape %cut : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  return %active, %joined : tensor<2x4xf32>, tensor<4x6xf32>
}

// Sizes that are not known have names, and what has no loops says why.
// CHECK-LABEL: program @fused_exp
// CHECK-NEXT:    argument x : n0x8x8xf32
// CHECK:           for i0 < n0, i1 < 8, i2 < 8
// CHECK-LABEL: // @fused_det has no loops: 'fuse.det' op has no loop form
func.func @unknown(%x: tensor<?x8x8xf32>) -> tensor<?xf32> {
  %e = fuse.exp %x : tensor<?x8x8xf32>
  %volumes = fuse.det %e : (tensor<?x8x8xf32>)
  return %volumes : tensor<?xf32>
}

// A running sum stores at each point of its line; so does a sort, which gives places.
// CHECK-LABEL: program @fused_cumsum
// CHECK:           add from 0.0 : f32 over r1 < 8, stored before each point
// CHECK:           store {{.*}}[i0, -r1 + 7]
// CHECK-LABEL: program @fused_topk
// CHECK:           order from 0 : i64 over r1 < 8, stored at the first 2 points
// CHECK:           then, %0 being the value
// CHECK-NEXT:        %1 = x[i0, %0] : f32
func.func @scans(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x2xf32>) {
  %sums = fuse.cumsum %x, axis = 1, exclusive = true, reverse = true : tensor<?x8xf32>
  %most, %places = fuse.topk %x, k = 2 : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  return %sums, %most : tensor<?x8xf32>, tensor<?x2xf32>
}

// A softmax before a product is one pass over columns of open length, too, whatever its scores are made of.
// CHECK-LABEL: program @open_attention
// CHECK: in one pass over n1 columns:
// CHECK-NEXT:   softmax_max4 is combined
// CHECK-NEXT:   softmax_sum7 becomes softmax_sum7 * exp(softmax_max4.old - softmax_max4.new), and combined
// CHECK-NEXT:   y becomes y * exp(softmax_max4.old - softmax_max4.new), and combined
func.func @open_attention(%q: tensor<4x?x16xf32>, %k: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>) -> tensor<4x?x16xf32>
    attributes {primitive} {
  %s = fuse.batch_matmul %q, %k, transpose_b = true : (tensor<4x?x16xf32>, tensor<4x?x16xf32>) -> tensor<4x?x?xf32>
  %p = fuse.softmax %s : tensor<4x?x?xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x?x?xf32>, tensor<4x?x16xf32>) -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

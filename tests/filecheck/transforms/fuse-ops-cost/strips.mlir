// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512" %s | filecheck %s

// Attention is one kernel, in strips of rows.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: func.call @fused_batch_matmul_multiply_softmax_batch_matmul(
// CHECK-NEXT: func.return
func.func @attention(%q: tensor<4x128x16xf32>, %k: tensor<4x16x128xf32>, %v: tensor<4x128x16xf32>, %scale: tensor<f32>)
    -> tensor<4x128x16xf32> {
  %s = fuse.batch_matmul %q, %k : (tensor<4x128x16xf32>, tensor<4x16x128xf32>) -> tensor<4x128x128xf32>
  %m = fuse.multiply %s, %scale : (tensor<4x128x128xf32>, tensor<f32>) -> tensor<4x128x128xf32>
  %p = fuse.softmax %m : tensor<4x128x128xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x128x128xf32>, tensor<4x128x16xf32>) -> tensor<4x128x16xf32>
  return %y : tensor<4x128x16xf32>
}

// Constant weights are packed once where a product is a kernel of its own, and in each call where it runs in strips.
// CHECK-LABEL: func.func @weights
// CHECK: func.call @fused_matmul(
// CHECK-NEXT: func.call @fused_softmax(
// CHECK-NEXT: func.call @fused_matmul{{.*}}(
// CHECK-NEXT: func.return
func.func @weights(%x: tensor<16x768xf32>) -> tensor<16x768xf32> {
  %w = arith.constant dense<0.01> : tensor<768x3072xf32>
  %u = arith.constant dense<0.02> : tensor<3072x768xf32>
  %p = fuse.matmul %x, %w : (tensor<16x768xf32>, tensor<768x3072xf32>) -> tensor<16x3072xf32>
  %s = fuse.softmax %p : tensor<16x3072xf32>
  %y = fuse.matmul %s, %u : (tensor<16x3072xf32>, tensor<3072x768xf32>) -> tensor<16x768xf32>
  return %y : tensor<16x768xf32>
}

// What all rows of a product need is stored by a kernel before it.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: func.call @fused_batch_matmul(
// CHECK-NEXT: func.call @fused_batch_matmul
// CHECK-NEXT: func.return
func.func @columns(%q: tensor<4x128x16xf32>, %x: tensor<4x16x32xf32>, %w: tensor<4x32x128xf32>)
    -> tensor<4x128x128xf32> {
  %k = fuse.batch_matmul %x, %w : (tensor<4x16x32xf32>, tensor<4x32x128xf32>) -> tensor<4x16x128xf32>
  %y = fuse.batch_matmul %q, %k : (tensor<4x128x16xf32>, tensor<4x16x128xf32>) -> tensor<4x128x128xf32>
  return %y : tensor<4x128x128xf32>
}

// Keys of any number pass in blocks: softmax and product are one pass, and scores join them.
// CHECK-LABEL: func.func @decoding
// CHECK-NEXT: func.call @fused_batch_matmul_multiply_softmax_batch_matmul{{.*}}(
// CHECK-NEXT: func.return
func.func @decoding(%q: tensor<4x1x16xf32>, %k: tensor<4x16x?xf32>, %v: tensor<4x?x16xf32>, %scale: tensor<f32>)
    -> tensor<4x1x16xf32> {
  %s = fuse.batch_matmul %q, %k : (tensor<4x1x16xf32>, tensor<4x16x?xf32>) -> tensor<4x1x?xf32>
  %m = fuse.multiply %s, %scale : (tensor<4x1x?xf32>, tensor<f32>) -> tensor<4x1x?xf32>
  %p = fuse.softmax %m : tensor<4x1x?xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x1x?xf32>, tensor<4x?x16xf32>) -> tensor<4x1x16xf32>
  return %y : tensor<4x1x16xf32>
}

// Where the weights are a result, all columns are stored: scores and softmax stay kernels of their own.
// CHECK-LABEL: func.func @weights_are_a_result
// CHECK: func.call @fused_softmax{{.*}}(
// CHECK: func.return
func.func @weights_are_a_result(%q: tensor<4x8x16xf32>, %k: tensor<4x16x?xf32>, %v: tensor<4x?x16xf32>)
    -> (tensor<4x8x16xf32>, tensor<4x8x?xf32>) {
  %s = fuse.batch_matmul %q, %k : (tensor<4x8x16xf32>, tensor<4x16x?xf32>) -> tensor<4x8x?xf32>
  %p = fuse.softmax %s : tensor<4x8x?xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x8x?xf32>, tensor<4x?x16xf32>) -> tensor<4x8x16xf32>
  return %y, %p : tensor<4x8x16xf32>, tensor<4x8x?xf32>
}

// Steps of strips are begun for each strip: so few rows are done sooner by kernels of their own.
// CHECK-LABEL: func.func @few_rows
// CHECK-NEXT: func.call @fused_batch_matmul
// CHECK-NEXT: func.call @fused_softmax
// CHECK-NEXT: func.call @fused_batch_matmul
// CHECK-NEXT: func.return
func.func @few_rows(%q: tensor<4x5x8xf32>, %k: tensor<4x8x5xf32>, %v: tensor<4x5x8xf32>) -> tensor<4x5x8xf32> {
  %s = fuse.batch_matmul %q, %k : (tensor<4x5x8xf32>, tensor<4x8x5xf32>) -> tensor<4x5x5xf32>
  %p = fuse.softmax %s : tensor<4x5x5xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x5x5xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return %y : tensor<4x5x8xf32>
}

// RUN: fuse-opt --sink-scales %s | filecheck %s

// Both operands of scores are scaled: that of the columns scales the result.
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = fuse.multiply %q,
// CHECK: %[[P:.*]] = fuse.batch_matmul %[[Q]], %k :
// CHECK-NEXT: %[[S:.*]] = fuse.multiply %[[P]], %{{.*}} : (tensor<2x8x8xf32>, tensor<f32>) -> tensor<2x8x8xf32>
// CHECK-NEXT: func.return %[[S]]
func.func @scores(%q: tensor<2x8x4xf32>, %k: tensor<2x4x8xf32>) -> tensor<2x8x8xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %a = fuse.multiply %q, %c : (tensor<2x8x4xf32>, tensor<f32>) -> tensor<2x8x4xf32>
  %b = fuse.multiply %k, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %y = fuse.batch_matmul %a, %b : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  return %y : tensor<2x8x8xf32>
}

// A quotient by a number with axes, too.
// CHECK-LABEL: func.func @divided
// CHECK: %[[P:.*]] = fuse.batch_matmul %q, %k, transpose_b = true :
// CHECK-NEXT: fuse.divide %[[P]], %{{.*}} : (tensor<2x8x8xf32>, tensor<f32>)
func.func @divided(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>) -> tensor<2x8x8xf32> {
  %c = arith.constant dense<8.0> : tensor<1x1xf32>
  %b = fuse.divide %k, %c : (tensor<2x8x4xf32>, tensor<1x1xf32>) -> tensor<2x8x4xf32>
  %y = fuse.batch_matmul %q, %b, transpose_b = true : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  return %y : tensor<2x8x8xf32>
}

// What others read stays, and so do f16, whose sums may overflow, and a scale of more than one number.
// CHECK-LABEL: func.func @kept
// CHECK: %[[B:.*]] = fuse.multiply %k,
// CHECK: fuse.batch_matmul %q, %[[B]] :
// CHECK: %[[H:.*]] = fuse.multiply %h,
// CHECK: fuse.batch_matmul %h, %[[H]], transpose_b = true :
// CHECK: %[[N:.*]] = fuse.multiply %k,
// CHECK: fuse.batch_matmul %q, %[[N]] :
func.func @kept(%q: tensor<2x8x4xf32>, %k: tensor<2x4x8xf32>, %h: tensor<2x8x4xf16>, %n: tensor<8xf32>)
    -> (tensor<2x8x8xf32>, tensor<2x4x8xf32>, tensor<2x8x8xf16>, tensor<2x8x8xf32>) {
  %c = arith.constant dense<0.5> : tensor<f32>
  %d = arith.constant dense<0.5> : tensor<f16>
  %b = fuse.multiply %k, %c : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
  %y = fuse.batch_matmul %q, %b : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  %g = fuse.multiply %h, %d : (tensor<2x8x4xf16>, tensor<f16>) -> tensor<2x8x4xf16>
  %z = fuse.batch_matmul %h, %g, transpose_b = true : (tensor<2x8x4xf16>, tensor<2x8x4xf16>) -> tensor<2x8x8xf16>
  %m = fuse.multiply %k, %n : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %w = fuse.batch_matmul %q, %m : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
  return %y, %b, %z, %w : tensor<2x8x8xf32>, tensor<2x4x8xf32>, tensor<2x8x8xf16>, tensor<2x8x8xf32>
}

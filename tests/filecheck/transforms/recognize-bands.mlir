// RUN: fuse-opt --recognize-bands %s | filecheck %s
// RUN: fuse-opt --recognize-bands --fuse-ops="strategy=cost machine=cpu-avx512" -t loops %s | filecheck %s --check-prefix=LOOPS

// Comparisons of positions are a band where they are read; an opposite stays one.
// CHECK-LABEL: func.func @compared
// CHECK: %[[W:.*]] = fuse.band lower = -15, upper = 0 -> tensor<64x64xi1>
// CHECK-NEXT: fuse.where %[[W]], %s,
// CHECK: %[[B:.*]] = fuse.band lower = -15, upper = 0, inside = 0.0, outside = 1.0 -> tensor<64x64xi1>
// CHECK-NEXT: fuse.where %[[B]],
func.func @compared(%s: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %minus = arith.constant dense<0xFF800000> : tensor<f32>
  %width = arith.constant dense<16> : tensor<i64>
  %j = fuse.arange stop = 64.0 -> tensor<64xi64>
  %i = fuse.reshape %j : (tensor<64xi64>) -> tensor<64x1xi64>
  %before = fuse.less_equal %j, %i : (tensor<64xi64>, tensor<64x1xi64>) -> tensor<64x64xi1>
  %start = fuse.subtract %i, %width : (tensor<64x1xi64>, tensor<i64>) -> tensor<64x1xi64>
  %near = fuse.greater %j, %start : (tensor<64xi64>, tensor<64x1xi64>) -> tensor<64x64xi1>
  %seen = fuse.logical_and %before, %near : tensor<64x64xi1>
  %y = fuse.where %seen, %s, %minus : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %hidden = fuse.logical_not %seen : tensor<64x64xi1>
  %z = fuse.where %hidden, %minus, %s : (tensor<64x64xi1>, tensor<f32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y, %z : tensor<64x64xf32>, tensor<64x64xf32>
}

// What is no band stays as it is: a stripe that is no diagonal, and a small mask.
// CHECK-LABEL: func.func @others
// CHECK-NOT: fuse.band
func.func @others(%s: tensor<64x64xf32>, %t: tensor<8x8xf32>) -> (tensor<64x64xf32>, tensor<8x8xf32>) {
  %minus = arith.constant dense<0xFF800000> : tensor<f32>
  %few = arith.constant dense<32> : tensor<i64>
  %j = fuse.arange stop = 64.0 -> tensor<64xi64>
  %first = fuse.less %j, %few : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
  %rows = fuse.broadcast_to %first : (tensor<64xi1>) -> tensor<64x64xi1>
  %y = fuse.where %rows, %s, %minus : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %k = fuse.arange stop = 8.0 -> tensor<8xi64>
  %l = fuse.reshape %k : (tensor<8xi64>) -> tensor<8x1xi64>
  %small = fuse.less_equal %k, %l : (tensor<8xi64>, tensor<8x1xi64>) -> tensor<8x8xi1>
  %z = fuse.where %small, %t, %minus : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  return %y, %z : tensor<64x64xf32>, tensor<8x8xf32>
}

// With the mask as a band the loops say which columns a row needs.
// CHECK-LABEL: func.func @attention
// LOOPS: program @fused_batch_matmul_band_where_softmax_batch_matmul
// LOOPS: inside 0 <= -i1 + i2 + 63 < 64 : i1
// LOOPS: row i1 needs of m, softmax_exp{{[0-9]+}}, p the columns from i1 - 63 to before i1 + 1
func.func @attention(%q: tensor<4x64x16xf32>, %k: tensor<4x16x64xf32>, %v: tensor<4x64x16xf32>)
    -> tensor<4x64x16xf32> {
  %minus = arith.constant dense<0xFF800000> : tensor<f32>
  %j = fuse.arange stop = 64.0 -> tensor<64xi64>
  %i = fuse.reshape %j : (tensor<64xi64>) -> tensor<64x1xi64>
  %seen = fuse.less_equal %j, %i : (tensor<64xi64>, tensor<64x1xi64>) -> tensor<64x64xi1>
  %s = fuse.batch_matmul %q, %k : (tensor<4x64x16xf32>, tensor<4x16x64xf32>) -> tensor<4x64x64xf32>
  %m = fuse.where %seen, %s, %minus : (tensor<64x64xi1>, tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64x64xf32>
  %p = fuse.softmax %m : tensor<4x64x64xf32>
  %y = fuse.batch_matmul %p, %v : (tensor<4x64x64xf32>, tensor<4x64x16xf32>) -> tensor<4x64x16xf32>
  return %y : tensor<4x64x16xf32>
}

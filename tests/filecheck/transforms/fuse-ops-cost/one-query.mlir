// RUN: fuse-opt --fuse-ops="strategy=cost machine=cpu-avx512" %s | filecheck %s

// One query for each of some keys shares no columns with others: strips would begin their steps for it alone, however
// many batches there are. Eight queries share them.

// CHECK-LABEL: func.func @one(
// CHECK: call @fused_batch_matmul(
// CHECK-LABEL: func.func @eight(
// CHECK: call @fused_batch_matmul_softmax_batch_matmul(
func.func @one(%q: tensor<?x1x32xf32>, %k: tensor<?x32x?xf32>, %v: tensor<?x?x32xf32>) -> tensor<?x1x32xf32> {
  %0 = fuse.batch_matmul %q, %k : (tensor<?x1x32xf32>, tensor<?x32x?xf32>) -> tensor<?x1x?xf32>
  %1 = fuse.softmax %0 : tensor<?x1x?xf32>
  %2 = fuse.batch_matmul %1, %v : (tensor<?x1x?xf32>, tensor<?x?x32xf32>) -> tensor<?x1x32xf32>
  return %2 : tensor<?x1x32xf32>
}

func.func @eight(%q: tensor<?x8x32xf32>, %k: tensor<?x32x?xf32>, %v: tensor<?x?x32xf32>) -> tensor<?x8x32xf32> {
  %0 = fuse.batch_matmul %q, %k : (tensor<?x8x32xf32>, tensor<?x32x?xf32>) -> tensor<?x8x?xf32>
  %1 = fuse.softmax %0 : tensor<?x8x?xf32>
  %2 = fuse.batch_matmul %1, %v : (tensor<?x8x?xf32>, tensor<?x?x32xf32>) -> tensor<?x8x32xf32>
  return %2 : tensor<?x8x32xf32>
}

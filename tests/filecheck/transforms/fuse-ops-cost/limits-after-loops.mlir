// A limit is asked first, as that is cheaper. A remark still says what stands between two loops before any limit.
// RUN: fuse-opt %s --fuse-ops="strategy=cost machine=cpu-avx512 max-depth=1" --remarks-filter-missed=fuse-ops 2>&1 >/dev/null | filecheck %s

func.func @main(%a: tensor<64x64xf32>) -> tensor<64xf32> {
  // CHECK: limits-after-loops.mlir:{{[0-9]+}}:8: remark: 'fuse.softmax' op not fused into 'fuse.sum': loops-differ
  %0 = fuse.softmax %a, axis = 1 : tensor<64x64xf32>
  // CHECK: limits-after-loops.mlir:{{[0-9]+}}:8: remark: 'fuse.sum' op not fused into 'fuse.exp': max-depth
  %1 = fuse.sum %0, axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %2 = fuse.exp %1 : tensor<64xf32>
  func.return %2 : tensor<64xf32>
}

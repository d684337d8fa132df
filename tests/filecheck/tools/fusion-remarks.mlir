// RUN: fuse-opt %s --fuse-ops --fusion-remarks 2>&1 >/dev/null | filecheck %s
// RUN: fuse-opt %s --fuse-ops="max-depth=1" --fusion-remarks 2>&1 >/dev/null | filecheck %s --check-prefix=DEPTH
// RUN: fuse-opt %s --fuse-ops="max-function-args=2" --fusion-remarks 2>&1 >/dev/null | filecheck %s --check-prefix=ARGS

func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  // CHECK: fusion-remarks.mlir:{{[0-9]+}}:8: remark: 'fuse.exp' op not fused into 'fuse.divide': path-kind
  // CHECK-NEXT: note: rule broadcast-into-consumer lets kinds up to injective stand between; the group of 'fuse.sum' is comm_reduce
  %0 = fuse.exp %x : tensor<4x8xf32>
  // CHECK-NEXT: fusion-remarks.mlir:{{[0-9]+}}:8: remark: 'fuse.sum' op not fused into 'fuse.divide': no-rule
  // CHECK-NEXT: note: no rule fuses an operator of kind comm_reduce into its consumers
  %1 = fuse.sum %0, axes = [1], keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: remark: 'fuse.divide' op not fused into 'fuse.softmax': edge-kind
  // CHECK-NEXT: note: rule broadcast-into-consumer follows edges of kind elemwise, broadcast, injective or comm_reduce; the edge into 'fuse.softmax' is out_ewise_fusable
  %2 = fuse.divide %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: remark: 'fuse.softmax' op not fused: value-escapes
  // CHECK-NEXT: note: something outside reads the value, or the ways of its users never meet
  %3 = fuse.softmax %2 : tensor<4x8xf32>
  %4 = fuse.tanh %3 : tensor<4x8xf32>
  %5 = fuse.transpose %3, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // DEPTH: 'fuse.transpose' op not fused into 'fuse.add': max-depth
  // DEPTH-NEXT: note: the merged group would count 2 nodes or more, and max-depth is 1
  // ARGS: 'fuse.transpose' op not fused into 'fuse.add': max-args
  // ARGS-NEXT: note: the merged group would need 3 arguments or more, the limit is 2
  %6 = fuse.add %5, %y : tensor<8x4xf32>
  return %4, %6 : tensor<4x8xf32>, tensor<8x4xf32>
}

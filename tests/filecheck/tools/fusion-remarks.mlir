// RUN: fuse-opt %s --fuse-ops --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s
// RUN: fuse-opt %s --fuse-ops="opt-level=0" --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=OFF
// RUN: fuse-opt %s --fuse-ops="max-depth=1" --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=DEPTH
// RUN: fuse-opt %s --fuse-ops="max-function-args=2" --fusion-remarks --remarks-verbose 2>&1 >/dev/null | filecheck %s --check-prefix=ARGS

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
  // CHECK-NEXT: note: there is no operator that all paths from the value lead to
  %3 = fuse.softmax %2 : tensor<4x8xf32>
  // CHECK-NEXT: remark: 'fuse.tanh' op not fused: value-escapes
  // CHECK-NEXT: note: the value is read outside the block, for example returned
  %4 = fuse.tanh %3 : tensor<4x8xf32>
  %5 = fuse.transpose %3, permutation = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // DEPTH: 'fuse.transpose' op not fused into 'fuse.add': max-depth
  // DEPTH-NEXT: note: the merged group would count 2 nodes or more, and max-depth is 1
  // ARGS: 'fuse.transpose' op not fused into 'fuse.add': max-args
  // ARGS-NEXT: note: the merged group would need 3 arguments or more, the limit is 2
  // CHECK-NEXT: remark: 'fuse.add' op not fused: value-escapes
  %6 = fuse.add %5, %y : tensor<8x4xf32>
  return %4, %6 : tensor<4x8xf32>, tensor<8x4xf32>
}

// Every operator that is not fused has a remark, also the last one, and one that nothing ever fuses with.
func.func @opaque(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: remark: 'fuse.sort' op not fused into 'fuse.relu': opaque
  // CHECK-NEXT: note: an operator of kind opaque stays alone
  // OFF: remark: 'fuse.sort' op not fused into 'fuse.relu': opaque
  %0 = fuse.sort %x : tensor<8xf32>
  // OFF: remark: 'fuse.relu' op not fused into 'fuse.exp': fusion-off
  // OFF-NEXT: note: fusion is switched off
  %1 = fuse.relu %0 : tensor<8xf32>
  // CHECK-NEXT: remark: 'fuse.exp' op not fused: value-escapes
  // OFF: remark: 'fuse.exp' op not fused: value-escapes
  %2 = fuse.exp %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

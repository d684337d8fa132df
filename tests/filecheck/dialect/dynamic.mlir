// RUN: FUSE_ROUNDTRIP

// The sizes of a tensor are a value.
// CHECK-LABEL: func.func @sizes_are_integers
func.func @sizes_are_integers(%x: tensor<?x4xf32>, %a: tensor<f16>) {
  // CHECK: fuse.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %0 = fuse.shape_of %x : (tensor<?x4xf32>)
  // CHECK: fuse.shape_of %a : (tensor<f16>) -> tensor<0xi64>
  %1 = fuse.shape_of %a : (tensor<f16>)
  return
}

// Sizes above 1 of what is broadcast are known, and a result type may say more.
// CHECK-LABEL: func.func @elements_are_repeated
func.func @elements_are_repeated(%x: tensor<?x4xf32>, %a: tensor<f32>, %s: tensor<3xi64>, %r: tensor<1xi32>) {
  // CHECK: fuse.dyn_broadcast_to %x, %s : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %0 = fuse.dyn_broadcast_to %x, %s : (tensor<?x4xf32>, tensor<3xi64>)
  // CHECK: fuse.dyn_broadcast_to %x, %s : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<2x?x4xf32>
  %1 = fuse.dyn_broadcast_to %x, %s : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<2x?x4xf32>
  // CHECK: fuse.dyn_full %a, %s : (tensor<f32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %2 = fuse.dyn_full %a, %s : (tensor<f32>, tensor<3xi64>)
  // CHECK: fuse.dyn_tile %x, %r : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?x?xf32>
  %3 = fuse.dyn_tile %x, %r : (tensor<?x4xf32>, tensor<1xi32>)
  return
}

// CHECK-LABEL: func.func @elements_are_moved
func.func @elements_are_moved(%x: tensor<?x4xf32>, %a: tensor<f32>, %s: tensor<2xi64>, %o: tensor<1xi64>) {
  // CHECK: fuse.dyn_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %0 = fuse.dyn_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi64>)
  // CHECK: fuse.dyn_reshape %x, %s, allowzero = true : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  %1 = fuse.dyn_reshape %x, %s, allowzero = true : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x2xf32>
  // CHECK: fuse.dyn_strided_slice %x, %o, %o, %o : (tensor<?x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x4xf32>
  %2 = fuse.dyn_strided_slice %x, %o, %o, %o : (tensor<?x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
  // CHECK: fuse.dyn_strided_slice %x, %o, %o, %o, axes = [-1] : ({{.*}}) -> tensor<?x?xf32>
  %3 = fuse.dyn_strided_slice %x, %o, %o, %o, axes = [-1] : (tensor<?x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
  // CHECK: fuse.dyn_pad %x, %a, %s, %s, mode = "edge" : ({{.*}}) -> tensor<?x?xf32>
  %4 = fuse.dyn_pad %x, %a, %s, %s, mode = "edge" : (tensor<?x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>)
  return
}

// CHECK-LABEL: func.func @images_are_sampled
func.func @images_are_sampled(%x: tensor<?x3x?x8xf32>, %s: tensor<2xi64>) {
  // CHECK: fuse.dyn_resize2d %x, %s : (tensor<?x3x?x8xf32>, tensor<2xi64>) -> tensor<?x3x?x?xf32>
  %0 = fuse.dyn_resize2d %x, %s : (tensor<?x3x?x8xf32>, tensor<2xi64>)
  // CHECK: fuse.dyn_resize2d %x, %s, method = "linear", scales = [2.0, 2.0] : ({{.*}}) -> tensor<?x3x?x?xf32>
  %1 = fuse.dyn_resize2d %x, %s, method = "linear", scales = [2.0, 2.0] : (tensor<?x3x?x8xf32>, tensor<2xi64>)
  return
}

// CHECK-LABEL: func.func @numbers_count
func.func @numbers_count(%x: tensor<?x4xf32>, %i: tensor<?xi64>, %n: tensor<i64>, %a: tensor<f32>) {
  // CHECK: fuse.dyn_arange %n, %n, %n : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %0 = fuse.dyn_arange %n, %n, %n : (tensor<i64>, tensor<i64>, tensor<i64>)
  // CHECK: fuse.dyn_topk %x, %n : (tensor<?x4xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %1, %2 = fuse.dyn_topk %x, %n : (tensor<?x4xf32>, tensor<i64>)
  // CHECK: fuse.dyn_topk %x, %n, axis = 0, is_ascend = true : ({{.*}}) -> (tensor<?x4xf32>, tensor<?x4xi64>)
  %3, %4 = fuse.dyn_topk %x, %n, axis = 0, is_ascend = true : (tensor<?x4xf32>, tensor<i64>)
  // CHECK: fuse.dyn_one_hot %i, %a, %a, %n : ({{.*}}) -> tensor<?x?xf32>
  %5 = fuse.dyn_one_hot %i, %a, %a, %n : (tensor<?xi64>, tensor<f32>, tensor<f32>, tensor<i64>)
  return
}

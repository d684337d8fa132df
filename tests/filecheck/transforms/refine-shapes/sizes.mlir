// RUN: fuse-opt %s '--refine-shapes=sizes="batch=2","seq=3"' | filecheck %s

// Numbers for the names make the program static, and its constants go with the arithmetic.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%x: tensor<2x3x4xf32> {{.*}}, %w: tensor<1x3x4xf32> {{.*}}) -> (tensor<6x4xf32>, tensor<3xi64>)
// CHECK-NEXT:    %{{.*}} = fuse.broadcast_to %w : (tensor<1x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT:    %{{.*}} = fuse.add {{.*}} : tensor<2x3x4xf32>
// CHECK-NEXT:    %{{.*}} = fuse.reshape {{.*}} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:    %{{.*}} = fuse.arange{{.*}} stop = 3.0 -> tensor<3xi64>
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<?x?x4xf32> {fuse.sizes = ["batch", "seq", ""]}, %w: tensor<1x?x4xf32> {fuse.sizes = ["", "seq", ""]}) -> (tensor<?x4xf32>, tensor<?xi64>) {
  %shape = fuse.shape_of %x : (tensor<?x?x4xf32>)
  %y = fuse.dyn_broadcast_to %w, %shape : (tensor<1x?x4xf32>, tensor<3xi64>)
  %z = fuse.add %x, %y : (tensor<?x?x4xf32>, tensor<?x?x4xf32>)
  %two = fuse.strided_slice %shape, begin = [0], end = [2] : (tensor<3xi64>)
  %rows = fuse.prod %two, axes = [0], keepdims = true : (tensor<2xi64>)
  %four = arith.constant dense<4> : tensor<1xi64>
  %wanted = fuse.concatenate %rows, %four : (tensor<1xi64>, tensor<1xi64>)
  %flat = fuse.dyn_reshape %z, %wanted : (tensor<?x?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %at = arith.constant dense<1> : tensor<i64>
  %length = fuse.take %shape, %at, axis = 0 : (tensor<3xi64>, tensor<i64>)
  %zero = arith.constant dense<0> : tensor<i64>
  %places = fuse.dyn_arange %zero, %length, %at : (tensor<i64>, tensor<i64>, tensor<i64>)
  return %flat, %places : tensor<?x4xf32>, tensor<?xi64>
}

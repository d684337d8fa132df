// RUN: fuse-opt --rematerialize-dequantization --split-input-file %s | filecheck %s

// Each of the two readers makes its own real numbers of the integers.
// CHECK-LABEL: func.func @two_readers
// CHECK:         %[[A:.*]] = fuse.multiply
// CHECK:         %[[C:.*]] = fuse.cast %q
// CHECK:         %[[B:.*]] = fuse.multiply
// CHECK:         fuse.softmax %[[B]]
// CHECK:         fuse.log_softmax %[[A]]
func.func @two_readers(%q: tensor<3x4xui8>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %scale = arith.constant dense<0.3> : tensor<f32>
  %0 = fuse.cast %q : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = fuse.cast %0 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %x = fuse.multiply %1, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %y = fuse.softmax %x : tensor<3x4xf32>
  %z = fuse.log_softmax %x : tensor<3x4xf32>
  return %y, %z : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// One reader, and numbers that were no integers, are left alone.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: fuse.multiply
// CHECK-NOT:     fuse.multiply
func.func @others(%q: tensor<3x4xui8>, %f: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %scale = arith.constant dense<0.3> : tensor<f32>
  %0 = fuse.cast %q : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = fuse.cast %0 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %x = fuse.multiply %1, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %g = fuse.multiply %f, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %y = fuse.softmax %x : tensor<3x4xf32>
  %z = fuse.log_softmax %g : tensor<3x4xf32>
  %u = fuse.softmax %g : tensor<3x4xf32>
  return %y, %z, %u : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

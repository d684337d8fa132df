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

// -----

// Who picks a few of the elements picks integers; who picks most of them reads what is converted.
// CHECK-LABEL: func.func @pick
// CHECK:         %[[ROW:.*]] = fuse.take %q, %i, axis = 0 : (tensor<6x4xui8>, tensor<i64>) -> tensor<4xui8>
// CHECK-NEXT:    %[[WIDE:.*]] = fuse.cast %[[ROW]] : (tensor<4xui8>) -> tensor<4xi32>
// CHECK-NEXT:    %[[MOVED:.*]] = fuse.subtract %[[WIDE]], %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
// CHECK-NEXT:    %[[REAL:.*]] = fuse.cast %[[MOVED]] : (tensor<4xi32>) -> tensor<4xf32>
// CHECK-NEXT:    fuse.multiply %[[REAL]], %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK:         fuse.strided_slice %q, {{.*}} : (tensor<6x4xui8>) -> tensor<3x4xui8>
// CHECK:         fuse.strided_slice {{.*}} : (tensor<6x4xf32>) -> tensor<4x4xf32>
func.func @pick(%q: tensor<6x4xui8>, %i: tensor<i64>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant dense<7> : tensor<i32>
  %scale = arith.constant dense<0.3> : tensor<f32>
  %0 = fuse.cast %q : (tensor<6x4xui8>) -> tensor<6x4xi32>
  %1 = fuse.subtract %0, %zero : (tensor<6x4xi32>, tensor<i32>) -> tensor<6x4xi32>
  %2 = fuse.cast %1 : (tensor<6x4xi32>) -> tensor<6x4xf32>
  %x = fuse.multiply %2, %scale : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %y = fuse.take %x, %i, axis = 0 : (tensor<6x4xf32>, tensor<i64>) -> tensor<4xf32>
  %z = fuse.strided_slice %x, begin = [0], end = [3], strides = [1], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %w = fuse.strided_slice %x, begin = [0], end = [4], strides = [1], axes = [0] : (tensor<6x4xf32>) -> tensor<4x4xf32>
  return %y, %z, %w : tensor<4xf32>, tensor<3x4xf32>, tensor<4x4xf32>
}

// -----

// Readers that pick parts of a function of real numbers pick integers, as long as no element is computed twice.
// CHECK-LABEL: func.func @parts_of_a_function
// CHECK:         %[[A:.*]] = fuse.strided_slice %q, {{.*}} : (tensor<6x4xui8>) -> tensor<3x4xui8>
// CHECK:         %[[REAL:.*]] = fuse.multiply {{.*}} -> tensor<3x4xf32>
// CHECK-NEXT:    %[[HALF:.*]] = fuse.divide %[[REAL]], %two
// CHECK-NEXT:    %[[Y:.*]] = fuse.exp %[[HALF]] : tensor<3x4xf32>
// CHECK:         %[[B:.*]] = fuse.take %q, %i, axis = 0 : (tensor<6x4xui8>, tensor<i64>) -> tensor<4xui8>
// CHECK:         %[[Z:.*]] = fuse.exp {{.*}} : tensor<4xf32>
// CHECK-NOT:     tensor<6x4xf32>
// CHECK:         return %[[Y]], %[[Z]]
func.func @parts_of_a_function(%q: tensor<6x4xui8>, %i: tensor<i64>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  %scale = arith.constant dense<0.3> : tensor<f32>
  %two = arith.constant dense<2.0> : tensor<f32>
  %0 = fuse.cast %q : (tensor<6x4xui8>) -> tensor<6x4xi32>
  %1 = fuse.cast %0 : (tensor<6x4xi32>) -> tensor<6x4xf32>
  %x = fuse.multiply %1, %scale : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %h = fuse.divide %x, %two : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %e = fuse.exp %h : tensor<6x4xf32>
  %y = fuse.strided_slice %e, begin = [0], end = [3], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %z = fuse.take %e, %i, axis = 0 : (tensor<6x4xf32>, tensor<i64>) -> tensor<4xf32>
  return %y, %z : tensor<3x4xf32>, tensor<4xf32>
}

// -----

// Picks that overlap would compute elements again, and who reads all of a function needs all of it.
// CHECK-LABEL: func.func @functions_of_all
// CHECK-COUNT-2: fuse.exp {{.*}} : tensor<6x4xf32>
// CHECK-NOT:     fuse.exp
func.func @functions_of_all(%q: tensor<6x4xui8>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6x4xf32>) {
  %scale = arith.constant dense<0.3> : tensor<f32>
  %0 = fuse.cast %q : (tensor<6x4xui8>) -> tensor<6x4xi32>
  %1 = fuse.cast %0 : (tensor<6x4xi32>) -> tensor<6x4xf32>
  %x = fuse.multiply %1, %scale : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %e = fuse.exp %x : tensor<6x4xf32>
  %a = fuse.strided_slice %e, begin = [0], end = [3], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %b = fuse.strided_slice %e, begin = [1], end = [4], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %c = fuse.strided_slice %e, begin = [2], end = [5], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %2 = fuse.cast %q : (tensor<6x4xui8>) -> tensor<6x4xi32>
  %3 = fuse.cast %2 : (tensor<6x4xi32>) -> tensor<6x4xf32>
  %u = fuse.multiply %3, %scale : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %f = fuse.exp %u : tensor<6x4xf32>
  %d = fuse.strided_slice %f, begin = [0], end = [3], axes = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %g = fuse.negative %f : tensor<6x4xf32>
  return %a, %b, %c, %d, %g : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6x4xf32>
}

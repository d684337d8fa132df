// RUN: fuse-opt --fake-quantization-to-integer --split-input-file %s | filecheck %s

// The integers are multiplied. What the zero point 5 does to each sum, and the bias in units of the scales, are one constant.
// CHECK-LABEL: func.func @dense
// CHECK:         %[[V:.*]] = arith.constant {{.*}} : tensor<2x4xi8>
// CHECK-NEXT:    %[[P:.*]] = fuse.dense %q, %[[V]], out_dtype = "i32" : (tensor<3x4xui8>, tensor<2x4xi8>) -> tensor<3x2xi32>
// CHECK-NEXT:    %[[B:.*]] = arith.constant dense<[-40, -10]> : tensor<2xi32>
// CHECK-NEXT:    %[[S:.*]] = fuse.bias_add %[[P]], %[[B]]
// CHECK-NEXT:    %[[F:.*]] = fuse.cast %[[S]] : (tensor<3x2xi32>) -> tensor<3x2xf32>
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<[1.250000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK-NEXT:    %y = fuse.multiply %[[F]], %[[C]]
// CHECK-NEXT:    return %y
func.func @dense(%q: tensor<3x4xui8>) -> tensor<3x2xf32> {
  %zero = arith.constant dense<5> : tensor<i32>
  %scale = arith.constant dense<0.5> : tensor<f32>
  %v = arith.constant dense<[[1, 2, 3, 4], [-1, -2, -3, 10]]> : tensor<2x4xi8>
  %t = arith.constant dense<[[0.25], [0.5]]> : tensor<2x1xf32>
  %bias = arith.constant dense<[1.25, 2.5]> : tensor<2xf32>
  %0 = fuse.cast %q : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = fuse.subtract %0, %zero : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %2 = fuse.cast %1 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %x = fuse.multiply %2, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %3 = fuse.cast %v : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %4 = fuse.cast %3 : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %w = fuse.multiply %4, %t : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %p = fuse.dense %x, %w : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %y = fuse.bias_add %p, %bias : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// Around the image stands the zero point; three channels are filled up to four.
// CHECK-LABEL: func.func @image
// CHECK:         %[[X:.*]] = fuse.pad %q, {{.*}}, low = [0, 0, 0, 0], high = [0, 1, 0, 0]
// CHECK:         fuse.conv2d %[[X]], %{{.*}}, padding = [1, 1, 1, 1], kernel_layout = "OHWI", pad_value = 7, out_dtype = "i32" : (tensor<1x4x5x5xui8>, tensor<2x3x3x4xi8>)
// CHECK-NOT:     fuse.conv2d
func.func @image(%q: tensor<1x3x5x5xui8>) -> tensor<1x2x5x5xf32> {
  %zero = arith.constant dense<7> : tensor<i32>
  %scale = arith.constant dense<0.5> : tensor<f32>
  %v = arith.constant dense<3> : tensor<2x3x3x3xi8>
  %0 = fuse.cast %q : (tensor<1x3x5x5xui8>) -> tensor<1x3x5x5xi32>
  %1 = fuse.subtract %0, %zero : (tensor<1x3x5x5xi32>, tensor<i32>) -> tensor<1x3x5x5xi32>
  %2 = fuse.cast %1 : (tensor<1x3x5x5xi32>) -> tensor<1x3x5x5xf32>
  %x = fuse.multiply %2, %scale : (tensor<1x3x5x5xf32>, tensor<f32>) -> tensor<1x3x5x5xf32>
  %3 = fuse.cast %v : (tensor<2x3x3x3xi8>) -> tensor<2x3x3x3xi32>
  %4 = fuse.cast %3 : (tensor<2x3x3x3xi32>) -> tensor<2x3x3x3xf32>
  %w = fuse.multiply %4, %scale : (tensor<2x3x3x3xf32>, tensor<f32>) -> tensor<2x3x3x3xf32>
  %y = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x3x5x5xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x5x5xf32>
  return %y : tensor<1x2x5x5xf32>
}

// -----

// Weights with a zero point, and those that are not known, stay real numbers.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     out_dtype
// CHECK:         return
func.func @others(%q: tensor<3x4xui8>, %u: tensor<2x4xi8>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %one = arith.constant dense<1> : tensor<i32>
  %scale = arith.constant dense<0.5> : tensor<f32>
  %v = arith.constant dense<3> : tensor<2x4xi8>
  %0 = fuse.cast %q : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = fuse.cast %0 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %x = fuse.multiply %1, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %2 = fuse.cast %v : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %3 = fuse.subtract %2, %one : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %4 = fuse.cast %3 : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %w = fuse.multiply %4, %scale : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %y = fuse.dense %x, %w : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %5 = fuse.cast %u : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %6 = fuse.cast %5 : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %n = fuse.multiply %6, %scale : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %z = fuse.dense %x, %n : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  return %y, %z : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Integers that only move, and are quantized again as they were, stay integers.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:    %{{.*}} = fuse.transpose %q, permutation = [1, 0] : (tensor<3x4xui8>) -> tensor<4x3xui8>
// CHECK-NEXT:    return
func.func @moved(%q: tensor<3x4xui8>) -> tensor<4x3xui8> {
  %zero = arith.constant dense<5> : tensor<i32>
  %zero_f = arith.constant dense<5.0> : tensor<f32>
  %scale = arith.constant dense<0.3> : tensor<f32>
  %0 = fuse.cast %q : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = fuse.subtract %0, %zero : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %2 = fuse.cast %1 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %x = fuse.multiply %2, %scale : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %y = fuse.transpose %x, permutation = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %3 = fuse.divide %y, %scale : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %4 = fuse.round %3 : tensor<4x3xf32>
  %5 = fuse.add %4, %zero_f : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %6 = fuse.clip %5, min = 0.0, max = 255.0 : tensor<4x3xf32>
  %7 = fuse.cast %6 : (tensor<4x3xf32>) -> tensor<4x3xui8>
  return %7 : tensor<4x3xui8>
}

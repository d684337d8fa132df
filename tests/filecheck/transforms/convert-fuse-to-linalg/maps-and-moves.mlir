// RUN: fuse-opt %s --convert-fuse-to-linalg | filecheck %s
// RUN: fuse-opt %s --fuse-ops --convert-fuse-to-linalg | filecheck %s --check-prefix=FUSED
// RUN: fuse-opt %s --fuse-ops --convert-fuse-to-linalg=noinline=false | filecheck %s --check-prefix=INLINE

// INLINE-NOT: noinline


// A chain of maps and moves is one generic; a constant of one number is in its body.
// CHECK-LABEL: func.func @chain
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:    ins(%x, %b, %t : tensor<4x8xf32>, tensor<8xf32>, tensor<8x4xf32>)
// CHECK:         arith.constant 5.000000e-01 : f32
// CHECK-NOT:     linalg.generic
// FUSED:       func.func private @[[PRIMITIVE:fused_add.*subtract]]({{.*}} attributes {primitive, noinline} {
// FUSED-LABEL: func.func @chain
// FUSED-NEXT:    [[Y:%.*]] = func.call @[[PRIMITIVE]](%x, %b
// A primitive is not to be inlined again.
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %t: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = fuse.add %x, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = fuse.multiply %0, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = fuse.transpose %t, permutation = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %3 = fuse.subtract %1, %2 : tensor<4x8xf32>
  func.return %3 : tensor<4x8xf32>
}

// A reshape moves nothing.
// CHECK-LABEL: func.func @reshape
// CHECK-NEXT:    [[FLAT:%.*]] = tensor.collapse_shape %x {{\[\[}}0 : i64, 1 : i64]] : tensor<4x6xf32> into tensor<24xf32>
// CHECK-NEXT:    [[Y:%.*]] = tensor.expand_shape [[FLAT]] {{\[\[}}0 : i64, 1 : i64, 2 : i64]] output_shape [2, 3, 4] : tensor<24xf32> into tensor<2x3x4xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<2x3x4xf32> {
  %y = fuse.reshape %x : (tensor<4x6xf32>) -> tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}

// A slice is taken before the loops, so that they begin at 0 and go by 1.
// CHECK-LABEL: func.func @slice
// CHECK:         [[PART:%.*]] = tensor.extract_slice %x[0, 1] [4, 3] [1, 2] : tensor<4x8xf32> to tensor<4x3xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:    ins([[PART]]
func.func @slice(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %0 = fuse.strided_slice %x, begin = [1], end = [7], strides = [2], axes = [1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %y = fuse.exp %0 : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// Pieces of a concatenation are computed apart and put together.
// CHECK-LABEL: func.func @concatenate
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<6x8xf32>
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[4, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<6x8xf32>
func.func @concatenate(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<6x8xf32> {
  %0 = fuse.concatenate %x, %y, axis = 0 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  %1 = fuse.tanh %0 : tensor<6x8xf32>
  func.return %1 : tensor<6x8xf32>
}

// What depends on values is read in the body.
// CHECK-LABEL: func.func @take
// CHECK:         linalg.generic {{.*}} ins(%i : tensor<3xi64>)
// CHECK:         [[PLACE:%.*]] = arith.index_cast
// CHECK:         tensor.extract %x[[[PLACE]], %{{.*}}] : tensor<4x8xf32>
func.func @take(%x: tensor<4x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %y = fuse.take %x, %i, axis = 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  func.return %y : tensor<3x8xf32>
}

// A dynamic size comes from an argument.
// CHECK-LABEL: func.func @dynamic
// CHECK:         [[SIZE:%.*]] = tensor.dim %x, %{{.*}} : tensor<?x8xf32>
// CHECK:         tensor.empty([[SIZE]]) : tensor<?x8xf32>
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = fuse.exp %x : tensor<?x8xf32>
  func.return %y : tensor<?x8xf32>
}

// Ops of other dialects stay; what their regions read is computed before them.
// CHECK-LABEL: func.func @foreign
// CHECK:         [[Y:%.*]] = linalg.generic
// CHECK:         scf.if %c -> (tensor<4xf32>) {
// CHECK-NEXT:      scf.yield [[Y]]
// CHECK:           scf.yield %x
func.func @foreign(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %y = fuse.exp %x : tensor<4xf32>
  %z = scf.if %c -> (tensor<4xf32>) {
    scf.yield %y : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %z : tensor<4xf32>
}

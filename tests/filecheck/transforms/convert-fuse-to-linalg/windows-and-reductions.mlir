// RUN: fuse-opt %s --convert-fuse-to-linalg | filecheck %s
// RUN: fuse-opt %s --convert-fuse-to-linalg=named-softmax=true | filecheck %s --check-prefix=NAMED

// Padding of a maximum is the least number, and the second input gives the size of the window.
// CHECK-LABEL: func.func @max_pool
// CHECK:         tensor.pad %x low[0, 0, 1, 1] high[0, 0, 0, 0]
// CHECK:         arith.constant 0xFF800000 : f32
// CHECK:         [[WINDOW:%.*]] = tensor.empty() : tensor<3x3xf32>
// CHECK:         linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%{{.*}}, [[WINDOW]] : tensor<1x4x9x9xf32>, tensor<3x3xf32>)
func.func @max_pool(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %y = fuse.max_pool2d %x, pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  func.return %y : tensor<1x4x4x4xf32>
}

// An average is a sum and a quotient.
// CHECK-LABEL: func.func @avg_pool
// CHECK:         linalg.pooling_nchw_sum
// CHECK:         linalg.generic
// CHECK:         arith.divf
func.func @avg_pool(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %y = fuse.avg_pool2d %x, pool_size = [2, 2], strides = [2, 2] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  func.return %y : tensor<1x4x4x4xf32>
}

// What comes before a reduction is part of it, what comes after it is a generic of its own.
// CHECK-LABEL: func.func @norm
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    linalg.yield
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
// CHECK:         math.sqrt
// CHECK-NOT:     linalg.generic
func.func @norm(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %squares = fuse.multiply %x, %x : tensor<4x8xf32>
  %sum = fuse.sum %squares, axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %y = fuse.sqrt %sum : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Unsigned integers are compared as such, and their types have no sign.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME:    (%x: tensor<4x8xi8>) -> tensor<4xi8>
// CHECK:         arith.maxui
func.func @unsigned(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %y = fuse.max %x, axes = [1] : (tensor<4x8xui8>) -> tensor<4xui8>
  func.return %y : tensor<4xui8>
}

// A softmax is generics, or the named op where that is asked for.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     linalg.softmax
// CHECK:         func.return
// NAMED-LABEL: func.func @softmax
// NAMED-NEXT:    [[EMPTY:%.*]] = tensor.empty() : tensor<4x8xf32>
// NAMED-NEXT:    [[Y:%.*]] = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs([[EMPTY]] : tensor<4x8xf32>) -> tensor<4x8xf32>
// NAMED-NEXT:    func.return [[Y]]
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = fuse.softmax %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// No list is made of more pixels than memory has room for: each is looked up where it is computed.
// CHECK-LABEL: func.func @as_many_pixels
// CHECK:         func.return {{.*}} : tensor<1x1x4611686018427387904x2xf32>
func.func @as_many_pixels(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x4611686018427387904x2xf32> {
  %y = fuse.resize2d %x, size = [4611686018427387904, 2] : (tensor<1x1x2x2xf32>)
  func.return %y : tensor<1x1x4611686018427387904x2xf32>
}

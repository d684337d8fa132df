// RUN: fuse-opt %s --convert-fuse-to-linalg | filecheck %s

// A product of matrices is the named op, on a tensor filled with zero.
// CHECK-LABEL: func.func @matmul
// CHECK:         [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         [[EMPTY:%.*]] = tensor.empty() : tensor<4x6xf32>
// CHECK:         [[START:%.*]] = linalg.fill ins([[ZERO]] : f32) outs([[EMPTY]] : tensor<4x6xf32>)
// CHECK:         [[Y:%.*]] = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x6xf32>) outs([[START]] : tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK:         func.return [[Y]]
func.func @matmul(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %y = fuse.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// A transposed operand is a map of a generic: a contraction, which compilers know as well.
// CHECK-LABEL: func.func @dense
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK:         [[PRODUCT:%.*]] = arith.mulf
// CHECK-NEXT:    [[SUM:%.*]] = arith.addf %{{.*}}, [[PRODUCT]] : f32
// CHECK-NEXT:    linalg.yield [[SUM]]
func.func @dense(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %y = fuse.dense %x, %w : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @batch_matmul
// CHECK:         linalg.batch_matmul ins(%x, %w : tensor<2x4x8xf32>, tensor<2x8x6xf32>)
func.func @batch_matmul(%x: tensor<2x4x8xf32>, %w: tensor<2x8x6xf32>) -> tensor<2x4x6xf32> {
  %y = fuse.batch_matmul %x, %w : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  func.return %y : tensor<2x4x6xf32>
}

// Half precision is summed in f32 and rounded once.
// CHECK-LABEL: func.func @half_matmul
// CHECK:         linalg.matmul ins(%x, %w : tensor<4x8xf16>, tensor<8x6xf16>) outs(%{{.*}} : tensor<4x6xf32>)
// CHECK:         arith.truncf %{{.*}} : f32 to f16
func.func @half_matmul(%x: tensor<4x8xf16>, %w: tensor<8x6xf16>) -> tensor<4x6xf16> {
  %y = fuse.matmul %x, %w : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf16>
  func.return %y : tensor<4x6xf16>
}

// Padding of a convolution is an op of its own, as far as windows reach; strides stay.
// CHECK-LABEL: func.func @conv2d
// CHECK:         [[PADDED:%.*]] = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 0, 0]
// CHECK:         linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins([[PADDED]], %w : tensor<1x3x33x33xf32>, tensor<8x3x3x3xf32>)
func.func @conv2d(%x: tensor<1x3x32x32xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<1x8x16x16xf32> {
  %y = fuse.conv2d %x, %w, strides = [2, 2], padding = [1, 1, 1, 1] : (tensor<1x3x32x32xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x16x16xf32>
  func.return %y : tensor<1x8x16x16xf32>
}

// CHECK-LABEL: func.func @conv2d_nhwc
// CHECK:         linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>)
func.func @conv2d_nhwc(%x: tensor<1x8x8x3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32> {
  %y = fuse.conv2d %x, %w, data_layout = "NHWC", kernel_layout = "HWIO" : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>
  func.return %y : tensor<1x8x8x4xf32>
}

// The weight of a depthwise convolution loses its axis of size 1.
// CHECK-LABEL: func.func @depthwise
// CHECK:         [[WEIGHT:%.*]] = tensor.collapse_shape %w {{\[\[}}0 : i64, 1 : i64], [2 : i64], [3 : i64]] : tensor<8x1x3x3xf32> into tensor<8x3x3xf32>
// CHECK:         linalg.depthwise_conv_2d_nchw_chw {{.*}} ins(%x, [[WEIGHT]] : tensor<1x8x16x16xf32>, tensor<8x3x3xf32>)
func.func @depthwise(%x: tensor<1x8x16x16xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x14x14xf32> {
  %y = fuse.conv2d %x, %w, groups = 8 : (tensor<1x8x16x16xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x14x14xf32>
  func.return %y : tensor<1x8x14x14xf32>
}

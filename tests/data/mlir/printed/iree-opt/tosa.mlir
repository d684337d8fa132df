module {
  func.func @abs(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.abs %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @ceil(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.ceil %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @cos(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.cos %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @erf(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.erf %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @exp(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.exp %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @floor(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.floor %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @log(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.log %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @reciprocal(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.reciprocal %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @rsqrt(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.rsqrt %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @sigmoid(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.sigmoid %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @sin(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.sin %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @tanh(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.tanh %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @add(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.add %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @maximum(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.maximum %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @minimum(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.minimum %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @pow(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.pow %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @sub(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.sub %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @bitwise_and(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.bitwise_and %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @bitwise_or(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.bitwise_or %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @bitwise_xor(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.bitwise_xor %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @logical_left_shift(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.logical_left_shift %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @logical_right_shift(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.logical_right_shift %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @intdiv(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.intdiv %arg0, %arg1 : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @bitwise_not(%arg0: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.bitwise_not %arg0 : (tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @clz(%arg0: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.clz %arg0 : (tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @logical_and(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xi1>) -> tensor<4x8xi1> {
    %0 = tosa.logical_and %arg0, %arg1 : (tensor<4x8xi1>, tensor<4x8xi1>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @logical_or(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xi1>) -> tensor<4x8xi1> {
    %0 = tosa.logical_or %arg0, %arg1 : (tensor<4x8xi1>, tensor<4x8xi1>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @logical_xor(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xi1>) -> tensor<4x8xi1> {
    %0 = tosa.logical_xor %arg0, %arg1 : (tensor<4x8xi1>, tensor<4x8xi1>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @logical_not(%arg0: tensor<4x8xi1>) -> tensor<4x8xi1> {
    %0 = tosa.logical_not %arg0 : (tensor<4x8xi1>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @equal(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xi1> {
    %0 = tosa.equal %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @greater(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xi1> {
    %0 = tosa.greater %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @greater_equal(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xi1> {
    %0 = tosa.greater_equal %arg0, %arg1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    return %0 : tensor<4x8xi1>
  }
  func.func @select(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.select %arg0, %arg1, %arg2 : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @arithmetic_right_shift(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) -> tensor<4x8xi32> {
    %0 = tosa.arithmetic_right_shift %arg0, %arg1 round(true) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @cast(%arg0: tensor<4x8xf32>) -> tensor<4x8xi32> {
    %0 = tosa.cast %arg0  : (tensor<4x8xf32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  }
  func.func @clamp(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.clamp %arg0 min_val(0.000000e+00 : f32) max_val(6.000000e+00 : f32) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @identity(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.identity %arg0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @argmax(%arg0: tensor<4x8xf32>) -> tensor<4xi32> {
    %0 = tosa.argmax %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
  func.func @reduce_max(%arg0: tensor<4x8xf32>) -> tensor<4x1xf32> {
    %0 = tosa.reduce_max %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @reduce_min(%arg0: tensor<4x8xf32>) -> tensor<4x1xf32> {
    %0 = tosa.reduce_min %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @reduce_product(%arg0: tensor<4x8xf32>) -> tensor<4x1xf32> {
    %0 = tosa.reduce_product %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @reduce_sum(%arg0: tensor<4x8xf32>) -> tensor<4x1xf32> {
    %0 = tosa.reduce_sum %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @reduce_all(%arg0: tensor<4x8xi1>) -> tensor<4x1xi1> {
    %0 = tosa.reduce_all %arg0 axis(1) : (tensor<4x8xi1>) -> tensor<4x1xi1>
    return %0 : tensor<4x1xi1>
  }
  func.func @reduce_any(%arg0: tensor<4x8xi1>) -> tensor<4x1xi1> {
    %0 = tosa.reduce_any %arg0 axis(1) : (tensor<4x8xi1>) -> tensor<4x1xi1>
    return %0 : tensor<4x1xi1>
  }
  func.func @concat(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<8x8xf32> {
    %0 = tosa.concat %arg0, %arg1 axis(0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func @reshape(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %0 = tosa.const_shape  values(dense<[8, 4]> : tensor<2xindex>) : () -> !tosa.shape<2>
    %1 = tosa.reshape %arg0, %0 : (tensor<4x8xf32>, !tosa.shape<2>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func @tile(%arg0: tensor<4x8xf32>) -> tensor<8x8xf32> {
    %0 = tosa.const_shape  values(dense<[2, 1]> : tensor<2xindex>) : () -> !tosa.shape<2>
    %1 = tosa.tile %arg0, %0 : (tensor<4x8xf32>, !tosa.shape<2>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
  func.func @pad(%arg0: tensor<4x8xf32>) -> tensor<4x10xf32> {
    %0 = tosa.const_shape  values(dense<[0, 0, 1, 1]> : tensor<4xindex>) : () -> !tosa.shape<4>
    %1 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %2 = tosa.pad %arg0, %0, %1 : (tensor<4x8xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<4x10xf32>
    return %2 : tensor<4x10xf32>
  }
  func.func @slice(%arg0: tensor<4x8xf32>) -> tensor<1x2xf32> {
    %0 = tosa.const_shape  values(dense<[1, 2]> : tensor<2xindex>) : () -> !tosa.shape<2>
    %1 = tosa.slice %arg0, %0, %0 : (tensor<4x8xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2xf32>
    return %1 : tensor<1x2xf32>
  }
  func.func @transpose(%arg0: tensor<4x8xf32>) -> tensor<8x4xf32> {
    %0 = tosa.transpose %arg0 perms([1, 0]) : (tensor<4x8xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func @reverse(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.reverse %arg0 axis(1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @gather(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x3xi32>) -> tensor<1x3x8xf32> {
    %0 = tosa.gather %arg0, %arg1 : (tensor<1x4x8xf32>, tensor<1x3xi32>) -> tensor<1x3x8xf32>
    return %0 : tensor<1x3x8xf32>
  }
  func.func @scatter(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x3xi32>, %arg2: tensor<1x3x8xf32>) -> tensor<1x4x8xf32> {
    %0 = tosa.scatter %arg0, %arg1, %arg2 : (tensor<1x4x8xf32>, tensor<1x3xi32>, tensor<1x3x8xf32>) -> tensor<1x4x8xf32>
    return %0 : tensor<1x4x8xf32>
  }
  func.func @negate(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.negate %arg0, %0, %0 : (tensor<4x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
  func.func @mul(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = tosa.const  values(dense<0> : tensor<1xi8>) : () -> tensor<1xi8>
    %1 = tosa.mul %arg0, %arg1, %0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1xi8>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
  func.func @matmul(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x8x6xf32>) -> tensor<1x4x6xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.matmul %arg0, %arg1, %0, %0 : (tensor<1x4x8xf32>, tensor<1x8x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x6xf32>
    return %1 : tensor<1x4x6xf32>
  }
  func.func @conv2d(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<4x3x3x3xf32>, %arg2: tensor<4xf32>) -> tensor<1x6x6x4xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.conv2d %arg0, %arg1, %arg2, %0, %0 pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(f32)  : (tensor<1x8x8x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x4xf32>
    return %1 : tensor<1x6x6x4xf32>
  }
  func.func @depthwise_conv2d(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x1xf32>, %arg2: tensor<3xf32>) -> tensor<1x6x6x3xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.depthwise_conv2d %arg0, %arg1, %arg2, %0, %0 pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(f32)  : (tensor<1x8x8x3xf32>, tensor<3x3x3x1xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x3xf32>
    return %1 : tensor<1x6x6x3xf32>
  }
  func.func @transpose_conv2d(%arg0: tensor<1x4x4x3xf32>, %arg1: tensor<4x3x3x3xf32>, %arg2: tensor<4xf32>) -> tensor<1x6x6x4xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.transpose_conv2d %arg0, %arg1, %arg2, %0, %0 out_pad([0, 0, 0, 0]) stride([1, 1]) acc_type(f32)  : (tensor<1x4x4x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x6x4xf32>
    return %1 : tensor<1x6x6x4xf32>
  }
  func.func @conv3d(%arg0: tensor<1x4x8x8x3xf32>, %arg1: tensor<4x1x3x3x3xf32>, %arg2: tensor<4xf32>) -> tensor<1x4x6x6x4xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.conv3d %arg0, %arg1, %arg2, %0, %0 pad([0, 0, 0, 0, 0, 0]) stride([1, 1, 1]) dilation([1, 1, 1]) acc_type(f32)  : (tensor<1x4x8x8x3xf32>, tensor<4x1x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x6x6x4xf32>
    return %1 : tensor<1x4x6x6x4xf32>
  }
  func.func @max_pool2d(%arg0: tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = tosa.max_pool2d %arg0 kernel([2, 2]) stride([2, 2]) pad([0, 0, 0, 0]) : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @max_pool2d_nan(%arg0: tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = tosa.max_pool2d %arg0 kernel([2, 2]) stride([2, 2]) pad([0, 0, 0, 0]) nan_mode<IGNORE> : (tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @avg_pool2d(%arg0: tensor<1x8x8x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = tosa.const  values(dense<0.000000e+00> : tensor<1xf32>) : () -> tensor<1xf32>
    %1 = tosa.avg_pool2d %arg0, %0, %0 kernel([2, 2]) stride([2, 2]) pad([0, 0, 0, 0]) acc_type(f32) : (tensor<1x8x8x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x3xf32>
    return %1 : tensor<1x4x4x3xf32>
  }
  func.func @resize(%arg0: tensor<1x8x8x3xf32>) -> tensor<1x16x16x3xf32> {
    %0 = tosa.const_shape  values(dense<[4, 2, 4, 2]> : tensor<4xindex>) : () -> !tosa.shape<4>
    %1 = tosa.const_shape  values(dense<-1> : tensor<2xindex>) : () -> !tosa.shape<2>
    %2 = tosa.const_shape  values(dense<1> : tensor<2xindex>) : () -> !tosa.shape<2>
    %3 = tosa.resize %arg0, %0, %1, %2 mode<BILINEAR> : (tensor<1x8x8x3xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x16x16x3xf32>
    return %3 : tensor<1x16x16x3xf32>
  }
  func.func @table(%arg0: tensor<4xi8>, %arg1: tensor<256xi8>) -> tensor<4xi8> {
    %0 = tosa.table %arg0, %arg1 : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>
    return %0 : tensor<4xi8>
  }
  func.func @rescale(%arg0: tensor<4xi8>) -> tensor<4xi8> {
    %0 = tosa.const  values(dense<19689> : tensor<1xi16>) : () -> tensor<1xi16>
    %1 = tosa.const  values(dense<15> : tensor<1xi8>) : () -> tensor<1xi8>
    %2 = tosa.rescale %arg0, %0, %1, %1, %1 scale32(false) rounding_mode<SINGLE_ROUND> per_channel(false) input_unsigned(false) output_unsigned(false) : (tensor<4xi8>, tensor<1xi16>, tensor<1xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
    return %2 : tensor<4xi8>
  }
}

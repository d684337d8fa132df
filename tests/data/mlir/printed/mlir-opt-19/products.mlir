module {
  func.func @matmul(%arg0: tensor<4x5xf32>, %arg1: tensor<5x1xf32>, %arg2: tensor<4x1xf32>) -> tensor<4x1xf32> {
    %0 = linalg.matmul ins(%arg0, %arg1 : tensor<4x5xf32>, tensor<5x1xf32>) outs(%arg2 : tensor<4x1xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @batch_matmul(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x5x1xf32>, %arg2: tensor<2x4x1xf32>) -> tensor<2x4x1xf32> {
    %0 = linalg.batch_matmul ins(%arg0, %arg1 : tensor<2x4x5xf32>, tensor<2x5x1xf32>) outs(%arg2 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    return %0 : tensor<2x4x1xf32>
  }
  func.func @batch_reduce_matmul(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x5x1xf32>, %arg2: tensor<4x1xf32>) -> tensor<4x1xf32> {
    %0 = linalg.batch_reduce_matmul ins(%arg0, %arg1 : tensor<2x4x5xf32>, tensor<2x5x1xf32>) outs(%arg2 : tensor<4x1xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @matvec(%arg0: tensor<4x1xf32>, %arg1: tensor<1xf32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
    %0 = linalg.matvec ins(%arg0, %arg1 : tensor<4x1xf32>, tensor<1xf32>) outs(%arg2 : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @vecmat(%arg0: tensor<4xf32>, %arg1: tensor<4x1xf32>, %arg2: tensor<1xf32>) -> tensor<1xf32> {
    %0 = linalg.vecmat ins(%arg0, %arg1 : tensor<4xf32>, tensor<4x1xf32>) outs(%arg2 : tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @batch_matvec(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x5xf32>, %arg2: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = linalg.batch_matvec ins(%arg0, %arg1 : tensor<2x4x5xf32>, tensor<2x5xf32>) outs(%arg2 : tensor<2x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
  func.func @batch_vecmat(%arg0: tensor<2x5xf32>, %arg1: tensor<2x5x1xf32>, %arg2: tensor<2x1xf32>) -> tensor<2x1xf32> {
    %0 = linalg.batch_vecmat ins(%arg0, %arg1 : tensor<2x5xf32>, tensor<2x5x1xf32>) outs(%arg2 : tensor<2x1xf32>) -> tensor<2x1xf32>
    return %0 : tensor<2x1xf32>
  }
  func.func @dot(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = linalg.dot ins(%arg0, %arg1 : tensor<4xf32>, tensor<4xf32>) outs(%arg2 : tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @matmul_transpose_a(%arg0: tensor<5x4xf32>, %arg1: tensor<5x1xf32>, %arg2: tensor<4x1xf32>) -> tensor<4x1xf32> {
    %0 = linalg.matmul_transpose_a ins(%arg0, %arg1 : tensor<5x4xf32>, tensor<5x1xf32>) outs(%arg2 : tensor<4x1xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @matmul_transpose_b(%arg0: tensor<4x5xf32>, %arg1: tensor<1x5xf32>, %arg2: tensor<4x1xf32>) -> tensor<4x1xf32> {
    %0 = linalg.matmul_transpose_b ins(%arg0, %arg1 : tensor<4x5xf32>, tensor<1x5xf32>) outs(%arg2 : tensor<4x1xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
  func.func @batch_matmul_transpose_a(%arg0: tensor<2x5x4xf32>, %arg1: tensor<2x5x1xf32>, %arg2: tensor<2x4x1xf32>) -> tensor<2x4x1xf32> {
    %0 = linalg.batch_matmul_transpose_a ins(%arg0, %arg1 : tensor<2x5x4xf32>, tensor<2x5x1xf32>) outs(%arg2 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    return %0 : tensor<2x4x1xf32>
  }
  func.func @batch_matmul_transpose_b(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x1x5xf32>, %arg2: tensor<2x4x1xf32>) -> tensor<2x4x1xf32> {
    %0 = linalg.batch_matmul_transpose_b ins(%arg0, %arg1 : tensor<2x4x5xf32>, tensor<2x1x5xf32>) outs(%arg2 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    return %0 : tensor<2x4x1xf32>
  }
  func.func @mmt4d(%arg0: tensor<4x5x2x2xf32>, %arg1: tensor<1x5x2x2xf32>, %arg2: tensor<4x1x2x2xf32>) -> tensor<4x1x2x2xf32> {
    %0 = linalg.mmt4d ins(%arg0, %arg1 : tensor<4x5x2x2xf32>, tensor<1x5x2x2xf32>) outs(%arg2 : tensor<4x1x2x2xf32>) -> tensor<4x1x2x2xf32>
    return %0 : tensor<4x1x2x2xf32>
  }
  func.func @batch_mmt4d(%arg0: tensor<2x4x5x2x2xf32>, %arg1: tensor<2x1x5x2x2xf32>, %arg2: tensor<2x4x1x2x2xf32>) -> tensor<2x4x1x2x2xf32> {
    %0 = linalg.batch_mmt4d ins(%arg0, %arg1 : tensor<2x4x5x2x2xf32>, tensor<2x1x5x2x2xf32>) outs(%arg2 : tensor<2x4x1x2x2xf32>) -> tensor<2x4x1x2x2xf32>
    return %0 : tensor<2x4x1x2x2xf32>
  }
  func.func @conv_1d(%arg0: tensor<5xf32>, %arg1: tensor<2xf32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
    %0 = linalg.conv_1d ins(%arg0, %arg1 : tensor<5xf32>, tensor<2xf32>) outs(%arg2 : tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @conv_2d(%arg0: tensor<5x5xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = linalg.conv_2d ins(%arg0, %arg1 : tensor<5x5xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @conv_3d(%arg0: tensor<5x5x5xf32>, %arg1: tensor<2x2x2xf32>, %arg2: tensor<4x4x4xf32>) -> tensor<4x4x4xf32> {
    %0 = linalg.conv_3d ins(%arg0, %arg1 : tensor<5x5x5xf32>, tensor<2x2x2xf32>) outs(%arg2 : tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
    return %0 : tensor<4x4x4xf32>
  }
  func.func @conv_1d_ncw_fcw(%arg0: tensor<1x3x8xf32>, %arg1: tensor<4x3x2xf32>, %arg2: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
    %0 = linalg.conv_1d_ncw_fcw {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x3x8xf32>, tensor<4x3x2xf32>) outs(%arg2 : tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    return %0 : tensor<1x4x4xf32>
  }
  func.func @conv_1d_nwc_wcf(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2x3x4xf32>, %arg2: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> {
    %0 = linalg.conv_1d_nwc_wcf {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2x3x4xf32>) outs(%arg2 : tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    return %0 : tensor<1x4x4xf32>
  }
  func.func @conv_2d_nchw_fchw(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<4x3x2x2xf32>, %arg2: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
    %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8xf32>, tensor<4x3x2x2xf32>) outs(%arg2 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    return %0 : tensor<1x4x4x4xf32>
  }
  func.func @conv_2d_nhwc_hwcf(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2x3x4xf32>, %arg2: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
    %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2x3x4xf32>) outs(%arg2 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    return %0 : tensor<1x4x4x4xf32>
  }
  func.func @conv_2d_nhwc_fhwc(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<4x2x2x3xf32>, %arg2: tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> {
    %0 = linalg.conv_2d_nhwc_fhwc {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<4x2x2x3xf32>) outs(%arg2 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
    return %0 : tensor<1x4x4x4xf32>
  }
  func.func @conv_2d_ngchw_gfchw(%arg0: tensor<1x2x3x8x8xf32>, %arg1: tensor<2x4x3x2x2xf32>, %arg2: tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
    %0 = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x2x3x8x8xf32>, tensor<2x4x3x2x2xf32>) outs(%arg2 : tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
    return %0 : tensor<1x2x4x4x4xf32>
  }
  func.func @conv_2d_ngchw_fgchw(%arg0: tensor<1x2x3x8x8xf32>, %arg1: tensor<4x2x3x2x2xf32>, %arg2: tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
    %0 = linalg.conv_2d_ngchw_fgchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x2x3x8x8xf32>, tensor<4x2x3x2x2xf32>) outs(%arg2 : tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
    return %0 : tensor<1x2x4x4x4xf32>
  }
  func.func @conv_3d_ncdhw_fcdhw(%arg0: tensor<1x3x8x8x8xf32>, %arg1: tensor<4x3x2x2x2xf32>, %arg2: tensor<1x4x4x4x4xf32>) -> tensor<1x4x4x4x4xf32> {
    %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8x8xf32>, tensor<4x3x2x2x2xf32>) outs(%arg2 : tensor<1x4x4x4x4xf32>) -> tensor<1x4x4x4x4xf32>
    return %0 : tensor<1x4x4x4x4xf32>
  }
  func.func @conv_3d_ndhwc_dhwcf(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2x3x4xf32>, %arg2: tensor<1x4x4x4x4xf32>) -> tensor<1x4x4x4x4xf32> {
    %0 = linalg.conv_3d_ndhwc_dhwcf {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2x3x4xf32>) outs(%arg2 : tensor<1x4x4x4x4xf32>) -> tensor<1x4x4x4x4xf32>
    return %0 : tensor<1x4x4x4x4xf32>
  }
  func.func @depthwise_conv_1d_ncw_cw(%arg0: tensor<1x3x8xf32>, %arg1: tensor<3x2xf32>, %arg2: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
    %0 = linalg.depthwise_conv_1d_ncw_cw {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x3x8xf32>, tensor<3x2xf32>) outs(%arg2 : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
    return %0 : tensor<1x3x4xf32>
  }
  func.func @depthwise_conv_1d_nwc_wc(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
    %0 = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2x3xf32>) outs(%arg2 : tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @depthwise_conv_1d_nwc_wcm(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2x3x4xf32>, %arg2: tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xf32> {
    %0 = linalg.depthwise_conv_1d_nwc_wcm {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2x3x4xf32>) outs(%arg2 : tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xf32>
    return %0 : tensor<1x4x3x4xf32>
  }
  func.func @depthwise_conv_2d_nchw_chw(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<3x2x2xf32>, %arg2: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
    %0 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8xf32>, tensor<3x2x2xf32>) outs(%arg2 : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    return %0 : tensor<1x3x4x4xf32>
  }
  func.func @depthwise_conv_2d_nhwc_hwc(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2x3xf32>, %arg2: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2x3xf32>) outs(%arg2 : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @depthwise_conv_2d_nhwc_hwcm(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2x3x4xf32>, %arg2: tensor<1x4x4x3x4xf32>) -> tensor<1x4x4x3x4xf32> {
    %0 = linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2x3x4xf32>) outs(%arg2 : tensor<1x4x4x3x4xf32>) -> tensor<1x4x4x3x4xf32>
    return %0 : tensor<1x4x4x3x4xf32>
  }
  func.func @depthwise_conv_3d_ncdhw_cdhw(%arg0: tensor<1x3x8x8x8xf32>, %arg1: tensor<3x2x2x2xf32>, %arg2: tensor<1x3x4x4x4xf32>) -> tensor<1x3x4x4x4xf32> {
    %0 = linalg.depthwise_conv_3d_ncdhw_cdhw {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8x8xf32>, tensor<3x2x2x2xf32>) outs(%arg2 : tensor<1x3x4x4x4xf32>) -> tensor<1x3x4x4x4xf32>
    return %0 : tensor<1x3x4x4x4xf32>
  }
  func.func @depthwise_conv_3d_ndhwc_dhwc(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2x3xf32>, %arg2: tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32> {
    %0 = linalg.depthwise_conv_3d_ndhwc_dhwc {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2x3xf32>) outs(%arg2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
    return %0 : tensor<1x4x4x4x3xf32>
  }
  func.func @depthwise_conv_3d_ndhwc_dhwcm(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2x3x4xf32>, %arg2: tensor<1x4x4x4x3x4xf32>) -> tensor<1x4x4x4x3x4xf32> {
    %0 = linalg.depthwise_conv_3d_ndhwc_dhwcm {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2x3x4xf32>) outs(%arg2 : tensor<1x4x4x4x3x4xf32>) -> tensor<1x4x4x4x3x4xf32>
    return %0 : tensor<1x4x4x4x3x4xf32>
  }
  func.func @pooling_ncw_max(%arg0: tensor<1x3x8xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
    %0 = linalg.pooling_ncw_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x3x8xf32>, tensor<2xf32>) outs(%arg2 : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
    return %0 : tensor<1x3x4xf32>
  }
  func.func @pooling_ncw_sum(%arg0: tensor<1x3x8xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1x3x4xf32>) -> tensor<1x3x4xf32> {
    %0 = linalg.pooling_ncw_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x3x8xf32>, tensor<2xf32>) outs(%arg2 : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
    return %0 : tensor<1x3x4xf32>
  }
  func.func @pooling_nwc_max(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
    %0 = linalg.pooling_nwc_max {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2xf32>) outs(%arg2 : tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @pooling_nwc_max_unsigned(%arg0: tensor<1x8x3xi32>, %arg1: tensor<2xi32>, %arg2: tensor<1x4x3xi32>) -> tensor<1x4x3xi32> {
    %0 = linalg.pooling_nwc_max_unsigned {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xi32>, tensor<2xi32>) outs(%arg2 : tensor<1x4x3xi32>) -> tensor<1x4x3xi32>
    return %0 : tensor<1x4x3xi32>
  }
  func.func @pooling_nwc_min(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
    %0 = linalg.pooling_nwc_min {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2xf32>) outs(%arg2 : tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @pooling_nwc_min_unsigned(%arg0: tensor<1x8x3xi32>, %arg1: tensor<2xi32>, %arg2: tensor<1x4x3xi32>) -> tensor<1x4x3xi32> {
    %0 = linalg.pooling_nwc_min_unsigned {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xi32>, tensor<2xi32>) outs(%arg2 : tensor<1x4x3xi32>) -> tensor<1x4x3xi32>
    return %0 : tensor<1x4x3xi32>
  }
  func.func @pooling_nwc_sum(%arg0: tensor<1x8x3xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1x4x3xf32>) -> tensor<1x4x3xf32> {
    %0 = linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%arg0, %arg1 : tensor<1x8x3xf32>, tensor<2xf32>) outs(%arg2 : tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
    return %0 : tensor<1x4x3xf32>
  }
  func.func @pooling_nchw_max(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
    %0 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    return %0 : tensor<1x3x4x4xf32>
  }
  func.func @pooling_nchw_sum(%arg0: tensor<1x3x8x8xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32> {
    %0 = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x3x8x8xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    return %0 : tensor<1x3x4x4xf32>
  }
  func.func @pooling_nhwc_max(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @pooling_nhwc_max_unsigned(%arg0: tensor<1x8x8x3xi32>, %arg1: tensor<2x2xi32>, %arg2: tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32> {
    %0 = linalg.pooling_nhwc_max_unsigned {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xi32>, tensor<2x2xi32>) outs(%arg2 : tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
    return %0 : tensor<1x4x4x3xi32>
  }
  func.func @pooling_nhwc_min(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = linalg.pooling_nhwc_min {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @pooling_nhwc_min_unsigned(%arg0: tensor<1x8x8x3xi32>, %arg1: tensor<2x2xi32>, %arg2: tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32> {
    %0 = linalg.pooling_nhwc_min_unsigned {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xi32>, tensor<2x2xi32>) outs(%arg2 : tensor<1x4x4x3xi32>) -> tensor<1x4x4x3xi32>
    return %0 : tensor<1x4x4x3xi32>
  }
  func.func @pooling_nhwc_sum(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<2x2xf32>, %arg2: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
    %0 = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%arg0, %arg1 : tensor<1x8x8x3xf32>, tensor<2x2xf32>) outs(%arg2 : tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
    return %0 : tensor<1x4x4x3xf32>
  }
  func.func @pooling_ndhwc_max(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2xf32>, %arg2: tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32> {
    %0 = linalg.pooling_ndhwc_max {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2xf32>) outs(%arg2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
    return %0 : tensor<1x4x4x4x3xf32>
  }
  func.func @pooling_ndhwc_min(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2xf32>, %arg2: tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32> {
    %0 = linalg.pooling_ndhwc_min {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2xf32>) outs(%arg2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
    return %0 : tensor<1x4x4x4x3xf32>
  }
  func.func @pooling_ndhwc_sum(%arg0: tensor<1x8x8x8x3xf32>, %arg1: tensor<2x2x2xf32>, %arg2: tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32> {
    %0 = linalg.pooling_ndhwc_sum {dilations = dense<1> : tensor<3xi64>, strides = dense<2> : tensor<3xi64>} ins(%arg0, %arg1 : tensor<1x8x8x8x3xf32>, tensor<2x2x2xf32>) outs(%arg2 : tensor<1x4x4x4x3xf32>) -> tensor<1x4x4x4x3xf32>
    return %0 : tensor<1x4x4x4x3xf32>
  }
}

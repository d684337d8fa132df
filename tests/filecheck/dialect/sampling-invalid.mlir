// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: 'fuse.grid_sample' op expects equal sizes of the last axis of 'grid' and the number of spatial axes, got 3 and 2
func.func @points_of_another_rank(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x5x3xf32>) {
  %r = fuse.grid_sample %x, %g : (tensor<1x2x4x4xf32>, tensor<1x3x5x3xf32>)
  return
}

// -----

// CHECK: 'fuse.grid_sample' op expects mode to be 'nearest' or 'linear' or 'cubic', got 'bilinear'
func.func @unknown_mode(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x5x2xf32>) {
  %r = fuse.grid_sample %x, %g, mode = "bilinear" : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>)
  return
}

// -----

// CHECK: 'fuse.roi_align' op expects equal sizes of regions, got 3 and 4
func.func @regions_without_image(%x: tensor<2x3x8x8xf32>, %r: tensor<3x4xf32>, %n: tensor<4xi64>) {
  %0 = fuse.roi_align %x, %r, %n, pooled_size = [2, 2] : (tensor<2x3x8x8xf32>, tensor<3x4xf32>, tensor<4xi64>)
  return
}

// -----

// CHECK: 'fuse.deformable_conv2d' op expects equal sizes of 'offset' and of the convolution, got 4 and 8
func.func @too_few_offsets(%x: tensor<1x2x4x4xf32>, %o: tensor<1x4x3x3xf32>, %m: tensor<1x4x3x3xf32>, %w: tensor<6x2x2x2xf32>) {
  %0 = fuse.deformable_conv2d %x, %o, %m, %w : (tensor<1x2x4x4xf32>, tensor<1x4x3x3xf32>, tensor<1x4x3x3xf32>, tensor<6x2x2x2xf32>)
  return
}

// -----

// CHECK: 'fuse.resize2d' op expects roi with the mode 'tf_crop_and_resize', and only with it
func.func @part_without_mode(%a: tensor<1x3x8x8xf32>) {
  %0 = fuse.resize2d %a, size = [4, 4], roi = [0.0, 0.0, 1.0, 1.0] : (tensor<1x3x8x8xf32>)
  return
}

// RUN: FUSE_ROUNDTRIP

// A grid of the same element type; `linear` and zeros beyond the borders are the defaults.
// CHECK-LABEL: func.func @images_are_sampled
func.func @images_are_sampled(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x5x2xf32>, %v: tensor<?x2x4x4x4xf32>, %h: tensor<?x2x2x2x3xf32>) {
  // CHECK: fuse.grid_sample %x, %g : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>) -> tensor<1x2x3x5xf32>
  %0 = fuse.grid_sample %x, %g : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>)
  // CHECK: fuse.grid_sample %x, %g, mode = "cubic", padding_mode = "reflection", align_corners = true : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>) -> tensor<1x2x3x5xf32>
  %1 = fuse.grid_sample %x, %g, mode = "cubic", padding_mode = "reflection", align_corners = true : (tensor<1x2x4x4xf32>, tensor<1x3x5x2xf32>)
  // CHECK: fuse.grid_sample %v, %h, mode = "nearest", padding_mode = "border" : (tensor<?x2x4x4x4xf32>, tensor<?x2x2x2x3xf32>) -> tensor<?x2x2x2x2xf32>
  %2 = fuse.grid_sample %v, %h, mode = "nearest", padding_mode = "border" : (tensor<?x2x4x4x4xf32>, tensor<?x2x2x2x3xf32>)
  return
}

// Regions of images, each with the number of its image.
// CHECK-LABEL: func.func @regions_are_pooled
func.func @regions_are_pooled(%x: tensor<2x3x8x8xf32>, %r: tensor<?x4xf32>, %n: tensor<?xi64>) {
  // CHECK: fuse.roi_align %x, %r, %n, pooled_size = [2, 2] : (tensor<2x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x3x2x2xf32>
  %0 = fuse.roi_align %x, %r, %n, pooled_size = [2, 2] : (tensor<2x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64>)
  // CHECK: fuse.roi_align %x, %r, %n, pooled_size = [3, 3], spatial_scale = 0.5, sampling_ratio = 2, mode = "max", aligned = true : (tensor<2x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x3x3x3xf32>
  %1 = fuse.roi_align %x, %r, %n, pooled_size = [3, 3], spatial_scale = 0.5, sampling_ratio = 2, mode = "max", aligned = true : (tensor<2x3x8x8xf32>, tensor<?x4xf32>, tensor<?xi64>)
  return
}

// Two offsets and a weight for each of the four elements of the kernel.
// CHECK-LABEL: func.func @kernels_are_deformed
func.func @kernels_are_deformed(%x: tensor<1x2x4x4xf32>, %o: tensor<1x8x3x3xf32>, %m: tensor<1x4x3x3xf32>, %w: tensor<6x2x2x2xf32>) {
  // CHECK: fuse.deformable_conv2d %x, %o, %m, %w : (tensor<1x2x4x4xf32>, tensor<1x8x3x3xf32>, tensor<1x4x3x3xf32>, tensor<6x2x2x2xf32>) -> tensor<1x6x3x3xf32>
  %0 = fuse.deformable_conv2d %x, %o, %m, %w : (tensor<1x2x4x4xf32>, tensor<1x8x3x3xf32>, tensor<1x4x3x3xf32>, tensor<6x2x2x2xf32>)
  return
}

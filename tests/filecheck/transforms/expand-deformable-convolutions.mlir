// RUN: fuse-opt --expand-deformable-convolutions %s | filecheck %s

// The image is sampled at points that the offsets say, x before y, weighted by the mask, and multiplied.
// CHECK-LABEL: func.func @one
// CHECK:         fuse.reverse {{.*}}axes = [3]
// CHECK:         fuse.transpose {{.*}}-> tensor<1x3x3x5x5x2xf32>
// CHECK:         fuse.grid_sample {{.*}}-> tensor<1x3x9x25xf32>
// CHECK:         fuse.multiply
// CHECK:         fuse.batch_matmul {{.*}}(tensor<1x1x4x27xf32>, tensor<1x1x27x25xf32>)
// CHECK-NOT:     deformable
func.func @one(%x: tensor<1x3x5x5xf32>, %o: tensor<1x18x5x5xf32>, %m: tensor<1x9x5x5xf32>, %w: tensor<4x3x3x3xf32>)
    -> tensor<1x4x5x5xf32> {
  %y = fuse.deformable_conv2d %x, %o, %m, %w, padding = [1, 1, 1, 1]
      : (tensor<1x3x5x5xf32>, tensor<1x18x5x5xf32>, tensor<1x9x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x5xf32>
  return %y : tensor<1x4x5x5xf32>
}

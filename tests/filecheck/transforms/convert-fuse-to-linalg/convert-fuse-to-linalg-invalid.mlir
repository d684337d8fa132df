// RUN: fuse-opt %s --convert-fuse-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'fuse.roi_align' op has no loop form for these properties
func.func @regions_of_any_size(%x: tensor<1x2x8x8xf32>, %rois: tensor<3x4xf32>, %n: tensor<3xi64>) -> tensor<3x2x2x2xf32> {
  %y = fuse.roi_align %x, %rois, %n, pooled_size = [2, 2] : (tensor<1x2x8x8xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x2x2x2xf32>
  func.return %y : tensor<3x2x2x2xf32>
}

// -----

// CHECK: 'fuse.loop' op stacks values of sizes that are not known
func.func @stacks(%x: tensor<?xf32>, %rows: tensor<3xf32>) -> tensor<3x?xf32> {
  %all = fuse.loop rows(%rows : tensor<3xf32>) -> (tensor<3x?xf32>) {
  ^bb0(%i: tensor<i64>, %row: tensor<f32>):
    fuse.yield %x : tensor<?xf32>
  }
  func.return %all : tensor<3x?xf32>
}

// -----

// CHECK: 'fuse.relu' op stands in a function of several blocks, which do not become linalg
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^next
^next:
  %y = fuse.relu %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

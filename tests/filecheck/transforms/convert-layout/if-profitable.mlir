// RUN: fuse-opt %s --convert-layout="if-profitable=true" | filecheck %s
// RUN: fuse-opt %s --convert-layout | filecheck %s --check-prefix=ALWAYS

// A lone convolution between two NCHW images: the transposes would move 896 elements, it moves 556 itself.
// CHECK-LABEL: func.func @lone
// CHECK-NEXT:    %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] :
// CHECK-NEXT:    func.return %c
// ALWAYS-LABEL: func.func @lone
// ALWAYS-COUNT-2: fuse.transpose
func.func @lone(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  func.return %c : tensor<1x4x8x8xf32>
}

// Three in a row are worth the two transposes.
// CHECK-LABEL: func.func @row
// CHECK-COUNT-3: data_layout = "NHWC"
func.func @row(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %a = fuse.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %b = fuse.conv2d %a, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  %c = fuse.conv2d %b, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)
  func.return %c : tensor<1x4x8x8xf32>
}

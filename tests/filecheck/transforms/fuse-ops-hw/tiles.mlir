// RUN: fuse-opt %s --fuse-ops-hw="template=small tile-trips=true" | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw="template=small tile-trips=true" -t hardware-report | filecheck %s --check-prefix=REPORT
// RUN: not fuse-opt %s --fuse-ops-hw="template=opu tile-trips=true strict-opu=true" 2>&1 | filecheck %s --check-prefix=STRICT
// STRICT: error: option 'tile-trips' does not go with 'strict-opu', which knows no limits

fuse.hardware @small source @mac feature_bytes 8192 {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @act kind "activation"
  fuse.hardware_link @mac -> @act
  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_map "fuse.dense" to ["mac"]
  fuse.hardware_map "fuse.relu" to ["activation"]
  fuse.hardware_map "fuse.softmax" to ["activation"]
}

// Padding stands at the edges of the feature map; tiles between them are a loop.
func.func @main(%x: tensor<1x4x32x16xf32>) -> tensor<1x4x32x16xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x3x3xf32>
  %conv = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x4x32x16xf32>, tensor<4x4x3x3xf32>)
  %relu = fuse.relu %conv : tensor<1x4x32x16xf32>
  return %relu : tensor<1x4x32x16xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = fuse.strided_slice %x, begin = [0], end = [9], axes = [2] {fuse.tile = "fused_conv2d_relu"}
// CHECK-NEXT:    %1 = func.call @fused_conv2d_relu_tile_0(%0)
// CHECK-NEXT:    [[STARTS:%.*]] = arith.constant {{.*}} dense<[7, 15]>
// CHECK-NEXT:    [[ROWS:%.*]] = arith.constant {{.*}} dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]>
// CHECK-NEXT:    fuse.loop rows([[STARTS]] : tensor<2xi64>) -> (tensor<2x1x4x8x16xf32>) {
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      fuse.add {{.*}}, [[ROWS]]
// CHECK-NEXT:      fuse.take %x, {{.*}}, axis = 2, mode = "fast"
// CHECK-NEXT:      func.call @fused_conv2d_relu_tile_1
// CHECK:         fuse.strided_slice %x, begin = [23], end = [32], axes = [2]
// CHECK-NEXT:    func.call @fused_conv2d_relu_tile_2
// CHECK-NEXT:    %relu = fuse.concatenate
// CHECK:       func.func private @fused_conv2d_relu_tile_0(%x: tensor<1x4x9x16xf32>) -> tensor<1x4x8x16xf32> attributes {primitive, fuse.hardware = "small"}
// CHECK:         fuse.conv2d {{.*}} padding = [1, 1, 0, 1] {fuse.unit = "mac"}
// CHECK:       func.func private @fused_conv2d_relu_tile_1(%x: tensor<1x4x10x16xf32>)
// CHECK:         fuse.conv2d {{.*}} padding = [0, 1, 0, 1]
// CHECK:       func.func private @fused_conv2d_relu_tile_2(%x: tensor<1x4x9x16xf32>)
// CHECK:         fuse.conv2d {{.*}} padding = [0, 1, 1, 1]

// Three times 1 halo row at both sides of 256 bytes, and weights for each tile.
// REPORT: | fused_conv2d_relu | small | {{.*}} | 20224 | 2304 |
// REPORT: Tiles: fused_conv2d_relu runs 4 times, 20224 bytes with halos, 16960 as one.

// One row is too much.
func.func @wide(%x: tensor<1x64x8x16xf32>) -> tensor<1x64x8x16xf32> {
  %w = arith.constant dense<0.5> : tensor<64x64x3x3xf32>
  %conv = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x64x8x16xf32>, tensor<64x64x3x3xf32>)
  return %conv : tensor<1x64x8x16xf32>
}
// CHECK-LABEL: func.func @wide
// CHECK:         fuse.conv2d {{.*}} {fuse.hardware_reason = "hardware-limit: a tile of one row would hold 16384 bytes of feature maps, the limit is 8192"}

// Some operators have no rows.
func.func @no_rows(%x: tensor<64x64xf32>, %y: tensor<1x4x16x32xf32>) -> (tensor<64x64xf32>, tensor<1x4x16x32xf32>) {
  %w = arith.constant dense<0.5> : tensor<64x64xf32>
  %dense = fuse.dense %x, %w : tensor<64x64xf32>
  %soft = fuse.softmax %y, axis = 2 : tensor<1x4x16x32xf32>
  return %dense, %soft : tensor<64x64xf32>, tensor<1x4x16x32xf32>
}
// CHECK-LABEL: func.func @no_rows
// CHECK:         fuse.dense {{.*}}hardware-limit: the trip would hold 32768 bytes of feature maps, the limit is 8192, and %dense cannot be cut into tiles of rows: its result has no rows
// CHECK-NEXT:    fuse.softmax {{.*}}16384 bytes of feature maps, the limit is 8192, and %soft cannot be cut into tiles of rows

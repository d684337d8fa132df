// RUN: fuse-opt %s --convert-layout="if-profitable=true machine=cpu-avx512" | filecheck %s
// RUN: fuse-opt %s --convert-layout="if-profitable=true machine=cpu-avx512" | filecheck %s --check-prefix=OUTER
// RUN: fuse-opt %s --convert-layout | filecheck %s --check-prefix=ALWAYS
// RUN: not fuse-opt %s --convert-layout="if-profitable=true machine=nowhere" 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown machine 'nowhere'

// A convolution of few pixels: two transposes take longer than all of it.
// CHECK-LABEL: func.func @tiny
// CHECK-NEXT:    %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] :
// CHECK-NEXT:    func.return %c
// ALWAYS-LABEL: func.func @tiny
// ALWAYS-COUNT-2: fuse.transpose
func.func @tiny(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %c = fuse.conv2d %x, %w, padding = [1, 1, 1, 1] : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>)
  func.return %c : tensor<1x4x8x8xf32>
}

// A convolution between other ops is worth two transposes; what stands around it stays as it is.
// CHECK-LABEL: func.func @between
// CHECK-NEXT:    %a = fuse.exp %x : tensor<1x32x96x96xf32>
// CHECK-NEXT:    [[A:%.*]] = fuse.transpose %a, permutation = [0, 2, 3, 1] :
// CHECK-NEXT:    %c = fuse.conv2d [[A]], %w, padding = [1, 1, 1, 1], data_layout = "NHWC" :
// CHECK-NEXT:    %r = fuse.relu %c : tensor<1x96x96x32xf32>
// CHECK-NEXT:    [[R:%.*]] = fuse.transpose %r, permutation = [0, 3, 1, 2] :
// CHECK-NEXT:    %f = fuse.reshape [[R]] :
// CHECK-NEXT:    func.return %f
func.func @between(%x: tensor<1x32x96x96xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<3072x96xf32> {
  %a = fuse.exp %x : tensor<1x32x96x96xf32>
  %c = fuse.conv2d %a, %w, padding = [1, 1, 1, 1] : (tensor<1x32x96x96xf32>, tensor<32x32x3x3xf32>)
  %r = fuse.relu %c : tensor<1x32x96x96xf32>
  %f = fuse.reshape %r : (tensor<1x32x96x96xf32>) -> tensor<3072x96xf32>
  func.return %f : tensor<3072x96xf32>
}

// One function, both layouts: each channel by itself has its channels last, one tap of many channels has not.
// OUTER-LABEL: func.func @apart
// OUTER:         %d = fuse.conv2d {{%.*}}, %v, padding = [3, 3, 3, 3], groups = 64, data_layout = "NHWC" :
// OUTER:         %e = fuse.conv2d %y, %w : (tensor<1x64x56x56xf32>
// OUTER-NOT:     fuse.transpose
// OUTER:         func.return
func.func @apart(%x: tensor<1x64x56x56xf32>, %y: tensor<1x64x56x56xf32>, %v: tensor<64x1x7x7xf32>, %w: tensor<64x64x1x1xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
  %d = fuse.conv2d %x, %v, padding = [3, 3, 3, 3], groups = 64 : (tensor<1x64x56x56xf32>, tensor<64x1x7x7xf32>)
  %e = fuse.conv2d %y, %w : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>)
  func.return %d, %e : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
}

// Ops that each would keep their layout have another one together: the transposes are shared.
// CHECK-LABEL: func.func @row
// CHECK-NEXT:    %x_1 = fuse.transpose %x
// CHECK-COUNT-3: data_layout = "NHWC"
// CHECK-NEXT:    [[C:%.*]] = fuse.transpose %c
// CHECK-NEXT:    func.return [[C]]
func.func @row(%x: tensor<1x512x14x14xf32>, %w: tensor<512x512x1x1xf32>) -> tensor<1x512x14x14xf32> {
  %a = fuse.conv2d %x, %w : (tensor<1x512x14x14xf32>, tensor<512x512x1x1xf32>)
  %b = fuse.conv2d %a, %w : (tensor<1x512x14x14xf32>, tensor<512x512x1x1xf32>)
  %c = fuse.conv2d %b, %w : (tensor<1x512x14x14xf32>, tensor<512x512x1x1xf32>)
  func.return %c : tensor<1x512x14x14xf32>
}

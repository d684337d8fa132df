// RUN: fuse-opt %s --fuse-ops-hw="template=tiny" | filecheck %s

// A template that stands in the module: capacity, limits, predicates and refusals.
fuse.hardware @tiny source @mac operands 4 buffer_bytes 64 channel_alignment 4 {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @bias kind "bias"
  fuse.hardware_unit @act kind "activation" capacity 2
  fuse.hardware_link @mac -> @bias
  fuse.hardware_link @bias -> @act
  fuse.hardware_map "fuse.dense" to ["mac"]
  fuse.hardware_map "fuse.add" to ["bias"] if "bias"
  fuse.hardware_map "fuse.relu" to ["activation"]
  fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
  fuse.hardware_virtual "fuse.reshape"
}

// A unit of capacity 2 takes two operators in a row, and no third.
func.func @capacity(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.relu %x : tensor<4xf32>
  %b = fuse.clip %a, min = 0.0, max = 6.0 : tensor<4xf32>
  %c = fuse.relu %b : tensor<4xf32>
  func.return %c : tensor<4xf32>
}
// CHECK-LABEL: func.func @capacity
// CHECK-NEXT:    %b = func.call @fused_relu_clip(%x) : (tensor<4xf32>)
// CHECK-NEXT:    %c = func.call @fused_relu(%b) {fuse.hardware_reason = "unit-busy: unit 'act' is taken in this trip"}

// Predicates: a clip from -1 and a sum of two computed values run on no unit.
func.func @predicates(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.clip %x, min = -1.0, max = 6.0 : tensor<4xf32>
  %b = fuse.add %a, %y : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
// CHECK-LABEL: func.func @predicates
// CHECK-NEXT:    fuse.clip {{.*}} {fuse.hardware_reason = "hardware-constraint: the lower bound is not zero"}
// CHECK-NEXT:    fuse.add {{.*}} {fuse.hardware_reason = "hardware-constraint: {{.*}}"}

// Channels that are no multiple of 4 keep a product on the host.
func.func @alignment(%x: tensor<2x8xf32>, %w: tensor<6x8xf32>) -> tensor<2x6xf32> {
  %a = fuse.dense %x, %w : (tensor<2x8xf32>, tensor<6x8xf32>) -> tensor<2x6xf32>
  func.return %a : tensor<2x6xf32>
}
// CHECK-LABEL: func.func @alignment
// CHECK-NEXT:    fuse.dense {{.*}} {fuse.hardware_reason = "hardware-limit: expects channels in multiples of 4, got 6"}

// A value of more than 64 bytes does not pass from unit to unit, nor does one of unknown size.
func.func @buffer(%x: tensor<17xf32>, %y: tensor<?xf32>) -> (tensor<17xf32>, tensor<?xf32>) {
  %a = fuse.relu %x : tensor<17xf32>
  %b = fuse.relu %a : tensor<17xf32>
  %c = fuse.relu %y : tensor<?xf32>
  %d = fuse.relu %c : tensor<?xf32>
  func.return %b, %d : tensor<17xf32>, tensor<?xf32>
}
// CHECK-LABEL: func.func @buffer
// CHECK-NEXT:    func.call @fused_relu_0(%x)
// CHECK-NEXT:    func.call @fused_relu_0(%a) {fuse.hardware_reason = "hardware-limit: a value of 68 bytes would pass between units, the limit is 64 bytes"}
// CHECK-NEXT:    func.call @fused_relu_1(%y)
// CHECK-NEXT:    func.call @fused_relu_1(%c) {fuse.hardware_reason = "hardware-limit: a value of unknown size would pass between units, the limit is 64 bytes"}

// Several results, also from the middle of the trip; the op of the host between them moves behind the call.
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = fuse.relu %x : tensor<4xf32>
  %h = fuse.exp %a : tensor<4xf32>
  %b = fuse.clip %a, min = 0.0, max = 6.0 : tensor<4xf32>
  func.return %h, %b : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @results
// CHECK-NEXT:    %a, %b = func.call @fused_relu_clip_0(%x)
// CHECK-NEXT:    fuse.exp %a {fuse.hardware_reason = "no-unit: no unit runs this operator"}

// Virtual operators come along: a view of the data inside a trip, and the view of a bias that only this trip reads.
// A constant that two trips read is copied into both.
func.func @inputs(%x: tensor<2x8xf32>, %w: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %v = fuse.reshape %k : (tensor<4xf32>) -> tensor<1x4xf32>
  %a = fuse.dense %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %b = fuse.add %a, %v : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %c = fuse.reshape %b : (tensor<2x4xf32>) -> tensor<8xf32>
  %d = fuse.relu %c : tensor<8xf32>
  %e = fuse.dense %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %f = fuse.add %e, %k : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %d, %f : tensor<8xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: func.func @inputs
// CHECK-NEXT:    func.call @fused_reshape_dense_add_reshape_relu(%x, %w)
// CHECK-NEXT:    func.call @fused_dense_add(%x, %w)
// CHECK-LABEL: func.func private @fused_reshape_dense_add_reshape_relu
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    fuse.reshape %k :
// CHECK-NEXT:    fuse.dense {{.*}} {fuse.unit = "mac"}
// CHECK-NEXT:    fuse.add {{.*}} {fuse.unit = "bias"}
// CHECK-NEXT:    fuse.reshape
// CHECK-NEXT:    fuse.relu {{.*}} {fuse.unit = "act"}
// CHECK-LABEL: func.func private @fused_dense_add
// CHECK-NEXT:    arith.constant

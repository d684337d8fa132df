// RUN: fuse-opt %s --rename-primitives | filecheck %s
// RUN: fuse-opt %s --rename-primitives --rename-primitives | filecheck %s
// RUN: fuse-opt %s --inline-fused --rename-primitives | filecheck %s --check-prefix=REGION

// Names say what is inside, and calls follow, also those in primitives and in regions.

// CHECK-LABEL: func.func @main
// CHECK:         func.call @fused_relu(
// CHECK-NEXT:    func.call @fused_relu_0(
// CHECK-NEXT:    func.call @fused_exp_relu(
// CHECK:           func.call @fused_relu(
// CHECK:         func.call @kept(
// CHECK-NEXT:    func.call @open(

// Kernels of one structure say one name.
// REGION-LABEL: func.func @main
// REGION:         fuse.fused "fused_relu"(
// REGION:         fuse.fused "fused_relu_0"(
// REGION:         fuse.fused "fused_exp_relu"(
// REGION:         fuse.fused "fused_relu"(
func.func @main(%c: tensor<i1>, %x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = func.call @fused_add_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @fused_relu(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @fused_exp_tanh(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = fuse.if(%c : tensor<i1>) -> (tensor<8xf32>) {
    %r = func.call @fused_add_relu(%2) : (tensor<8xf32>) -> tensor<8xf32>
    fuse.yield %r : tensor<8xf32>
  } else {
    fuse.yield %2 : tensor<8xf32>
  }
  %4 = func.call @kept(%3) : (tensor<8xf32>) -> tensor<8xf32>
  %5 = func.call @open(%4) : (tensor<8xf32>) -> tensor<8xf32>
  return %5, %1 : tensor<8xf32>, tensor<4xf32>
}

// CHECK: func.func private @fused_relu(%{{.*}}: tensor<8xf32>)
func.func private @fused_add_relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
  %0 = fuse.relu %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: func.func private @fused_relu_0(%{{.*}}: tensor<4xf32>)
func.func private @fused_relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = fuse.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func.func private @fused_exp_relu(
func.func private @fused_exp_tanh(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
  %0 = fuse.exp %x : tensor<8xf32>
  %1 = fuse.relu %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// What somebody else refers to, or may call, keeps its name.
// CHECK: func.func private @kept(
func.func private @kept(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
  %0 = fuse.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: func.func @open(
func.func @open(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive, also = @kept} {
  %0 = fuse.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: func.func private @outside(
func.func private @outside(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive}

// A table inside has names of its own.
// CHECK: builtin.module @inside
// CHECK:   func.call @fused_relu(
// CHECK:   func.func private @fused_relu(
builtin.module @inside {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @fused_add_relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @fused_add_relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {primitive} {
    %0 = fuse.relu %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

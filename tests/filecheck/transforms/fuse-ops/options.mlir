// RUN: fuse-opt %s --fuse-ops="opt-level=0" | filecheck %s --check-prefix=LEVEL0
// RUN: fuse-opt %s --fuse-ops="max-depth=2" | filecheck %s --check-prefix=DEPTH
// RUN: fuse-opt %s --fuse-ops="max-function-args=3" | filecheck %s --check-prefix=ARGS
// RUN: fuse-opt %s --fuse-ops="link-params=true" | filecheck %s --check-prefix=LINK
// RUN: fuse-opt %s --fuse-ops="dedup=false" | filecheck %s --check-prefix=DEDUP
// RUN: xdsl-opt %s -p 'fuse-ops{opt-level=0 max-depth=8}' | filecheck %s --check-prefix=LEVEL0
// RUN: not fuse-opt %s --fuse-ops="max-function-args=-1" 2>&1 | filecheck %s --check-prefix=NEGATIVE

// NEGATIVE: error: option 'max-function-args' expects 0 or more, got -1

// Two equal chains, each with a scalar constant and a vector constant.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %row = arith.constant dense<2.0> : tensor<8xf32>
  %0 = fuse.add %x, %one : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = fuse.multiply %0, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = fuse.sort %1 : tensor<4x8xf32>
  %two = arith.constant dense<1.0> : tensor<f32>
  %3 = fuse.add %2, %two : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %4 = fuse.multiply %3, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// Level 0: every operator alone, and the scalar constant an argument.
// LEVEL0-LABEL: func.func @main
// LEVEL0:         func.call @fused_add(%x, %one)
// LEVEL0-NEXT:    func.call @fused_multiply(
// LEVEL0-NEXT:    func.call @fused_sort(
// LEVEL0:         func.call @fused_add(
// LEVEL0-NEXT:    func.call @fused_multiply(

// The constant counts as a node: addition and constant are 2, with the multiplication 3.
// DEPTH-LABEL:  func.func @main
// DEPTH:          func.call @fused_add(%x)
// DEPTH-NEXT:     func.call @fused_multiply({{.*}}, %row)

// Two arguments and one result are 3.
// ARGS-LABEL:   func.func @main
// ARGS:           func.call @fused_add_multiply(%x, %row)

// LINK-LABEL:   func.func @main
// LINK-NEXT:      func.call @fused_add_multiply(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// LINK-NEXT:      func.call @fused_sort(
// LINK-NEXT:      func.call @fused_add_multiply(
// LINK-NEXT:      func.return
// LINK-LABEL:   func.func private @fused_add_multiply
// LINK-NEXT:      arith.constant dense<2.000000e+00> : tensor<8xf32>
// LINK-NEXT:      arith.constant dense<1.000000e+00> : tensor<f32>

// DEDUP-LABEL:  func.func @main
// DEDUP:          func.call @fused_add_multiply(%x
// DEDUP:          func.call @fused_add_multiply_0(
// DEDUP:        func.func private @fused_add_multiply(
// DEDUP:        func.func private @fused_add_multiply_0(

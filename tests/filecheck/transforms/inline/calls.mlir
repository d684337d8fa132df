// RUN: fuse-opt %s --inline | filecheck %s

// Calls within calls are resolved, and functions that nobody calls any more are gone.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = fuse.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[A:%.*]] = fuse.tanh %x
// CHECK-NEXT:    [[B:%.*]] = fuse.exp [[A]]
// CHECK-NEXT:    [[C:%.*]] = fuse.tanh [[B]]
// CHECK-NEXT:    func.return [[C]]
// CHECK-NOT:   @outer
// CHECK-NOT:   @inner

// The body of a loop, too.
func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.while(%i = %x) : tensor<4xf32>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = func.call @step(%i) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
func.func private @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @loop
// CHECK:         } do {
// CHECK-NEXT:      [[Y:%.*]] = stablehlo.tanh %i
// CHECK-NEXT:      stablehlo.return [[Y]]

// What calls itself stays, and so do public functions, primitives, and functions that must not be inlined.
func.func @stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @public(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @primitive(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @kept(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @shared(%3) {marked} : (tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
func.func private @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @public(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @primitive(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  return %x : tensor<4xf32>
}
func.func private @kept(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  return %x : tensor<4xf32>
}
func.func private @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// CHECK-LABEL: func.func @stay
// CHECK-NEXT:    func.call @endless(%x)
// CHECK-NEXT:    func.call @public
// CHECK-NEXT:    func.call @primitive
// CHECK-NEXT:    func.call @kept
// CHECK-NEXT:    func.call @shared

// RUN: fuse-opt %s --allow-unregistered-dialect --defuse-ops --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --defuse-ops | filecheck %s --check-prefix GONE

// GONE-NOT:  @fused_
// GONE-NOT:  private @nested

func.func private @fused_sin_cos(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = fuse.sin %a {mark = 1 : i64} : tensor<4xf32> loc("sin of the primitive")
  %1 = fuse.cos %0 : tensor<4xf32> loc("cos of the primitive")
  func.return %1 : tensor<4xf32>
}

// Ops come where the call stood; the last one takes the call's location and name, attributes stay.
func.func @called_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %first = func.call @fused_sin_cos(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  "test.op"() : () -> ()
  %second = func.call @fused_sin_cos(%first) : (tensor<4xf32>) -> tensor<4xf32> loc("second")
  func.return %second : tensor<4xf32>
}
// CHECK-LABEL: func.func @called_twice
// CHECK-NEXT:    [[S:%.*]] = fuse.sin %x {mark = 1 : i64} : tensor<4xf32> loc("sin of the primitive")
// CHECK-NEXT:    %first = fuse.cos [[S]] : tensor<4xf32> loc("first")
// CHECK-NEXT:    "test.op"
// CHECK-NEXT:    [[T:%.*]] = fuse.sin %first {mark = 1 : i64} : tensor<4xf32> loc("sin of the primitive")
// CHECK-NEXT:    %second = fuse.cos [[T]] : tensor<4xf32> loc("second")
// CHECK-NEXT:    func.return %second

func.func private @nested_outer(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = func.call @nested_inner(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @nested_inner(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @nested_inner(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = fuse.exp %a : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// Primitives that call primitives are resolved all the way.
func.func @nested_calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @nested_outer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @nested_calls
// CHECK-NEXT:    [[E:%.*]] = fuse.exp %x
// CHECK-NEXT:    [[F:%.*]] = fuse.exp [[E]]
// CHECK-NEXT:    func.return [[F]]

func.func private @fused_two(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {primitive} {
  %0 = "mine.map"(%b) ({
    %1 = fuse.add %a, %b : tensor<4xf32>
    "mine.yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %a : tensor<4xf32>, tensor<4xf32>
}

// Several results, one of them an argument, regions that capture arguments, and calls inside regions.
func.func @regions(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %2 = scf.if %c -> (tensor<4xf32>) {
    %0, %1 = func.call @fused_two(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %3 = fuse.multiply %0, %1 : tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %2 : tensor<4xf32>
}
// CHECK-LABEL: func.func @regions
// CHECK-NEXT:    scf.if %c
// CHECK-NEXT:      [[M:%.*]] = "mine.map"(%x) ({
// CHECK-NEXT:        [[A:%.*]] = fuse.add %x, %x
// CHECK-NEXT:        "mine.yield"([[A]])
// CHECK-NEXT:      })
// CHECK-NEXT:      [[P:%.*]] = fuse.multiply [[M]], %x
// CHECK-NEXT:      scf.yield [[P]]

// What is public, referred to otherwise, declared only or not primitive stays; so do calls on a cycle.
func.func @stays_public(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  func.return %a : tensor<4xf32>
}
func.func private @stays_pinned(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  func.return %a : tensor<4xf32>
}
func.func private @stays_declared(tensor<4xf32>) -> tensor<4xf32> attributes {primitive}
func.func private @stays_plain(%a: tensor<4xf32>) -> tensor<4xf32> {
  func.return %a : tensor<4xf32>
}
func.func private @stays_cyclic(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = func.call @stays_cyclic(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func @what_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @stays_public(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @stays_pinned(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @stays_declared(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @stays_plain(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = func.call @stays_cyclic(%3) : (tensor<4xf32>) -> tensor<4xf32>
  "test.op"() {callbacks = [@stays_pinned]} : () -> ()
  func.return %4 : tensor<4xf32>
}
// CHECK-DAG:   func.func @stays_public
// CHECK-DAG:   func.func private @stays_pinned
// CHECK-LABEL: func.func @what_stays
// CHECK-NEXT:    [[D:%.*]] = func.call @stays_declared(%x)
// CHECK-NEXT:    [[Q:%.*]] = func.call @stays_plain([[D]])
// CHECK-NEXT:    [[C:%.*]] = func.call @stays_cyclic([[Q]])
// CHECK-NEXT:    "test.op"
// CHECK-NEXT:    func.return [[C]]

// A module inside has symbols of its own.
builtin.module @inside {
  func.func private @fused_sin_cos(%a: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
    %0 = fuse.tan %a : tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  func.func @inner_symbols(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @fused_sin_cos(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
}
// CHECK-LABEL: func.func @inner_symbols
// CHECK-NEXT:    fuse.tan %x

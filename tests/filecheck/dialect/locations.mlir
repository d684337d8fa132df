// RUN: fuse-opt %s --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --print-debuginfo | fuse-opt --print-debuginfo | filecheck %s

// Aliases are defined where MLIR's printer puts them: at the end. A place may be a range.
// CHECK-LABEL: func.func @aliases
#loc1 = loc("x")
func.func @aliases(%x: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.tanh %x : tensor<4xf32> loc("jit(f)/tanh"("a.py":80:7 to :27))
  %0 = stablehlo.tanh %x : tensor<4xf32> loc(#loc5)
  // CHECK-NEXT: stablehlo.add %0, %0 : tensor<4xf32> loc("a.py":80:7 to 82:3)
  %1 = stablehlo.add %0, %0 : tensor<4xf32> loc("a.py":80:7 to 82:3)
  // CHECK-NEXT: stablehlo.exponential %1 : tensor<4xf32> loc(callsite("f"("a.py":80:7 to :27) at "x"))
  %2 = stablehlo.exponential %1 : tensor<4xf32> loc(#loc6)
  // CHECK-NEXT: stablehlo.sine %2 : tensor<4xf32> loc(fused<"why">["x", "a.py":1:2])
  %3 = stablehlo.sine %2 : tensor<4xf32> loc(fused<"why">["x", "a.py":1:2])
  return %3 : tensor<4xf32> loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc6 = loc(callsite(#loc7 at #loc1))
#loc7 = loc("f"(#loc3))
#loc3 = loc("a.py":80:7 to :27)
#loc5 = loc("jit(f)/tanh"(#loc3))

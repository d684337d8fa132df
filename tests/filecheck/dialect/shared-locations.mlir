// RUN: fuse-opt %s --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --print-debuginfo | fuse-opt --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --fuse-ops --print-debuginfo | filecheck %s --check-prefix=FUSED

// A location that is made of others and used twice is printed once, behind the module; forty levels are forty lines.
// CHECK: %0 = stablehlo.tanh %x : tensor<4xf32> loc(#loc1)
// CHECK-NEXT: %1 = stablehlo.sine %0 : tensor<4xf32> loc(callsite("g" at "h"))
// CHECK: #loc = loc(callsite("f"("a.py":1:2) at "b.py":3:4))
// CHECK-NEXT: #loc1 = loc("name"(fused<"why">[#loc, #loc]))
// CHECK-NOT: #loc2

// A call has the location of its group's root, by the same name.
// FUSED: func.call @fused_tanh_sine_add(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc1)
// FUSED: stablehlo.add %1, %1 : tensor<4xf32> loc(#loc1)
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32> loc(#deep)
  %1 = stablehlo.sine %0 : tensor<4xf32> loc(callsite("g" at "h"))
  %2 = stablehlo.add %1, %1 : tensor<4xf32> loc(#deep)
  return %2 : tensor<4xf32>
}
#deep = loc("name"(#twice))
#twice = loc(fused<"why">[#once, #once])
#once = loc(callsite("f"("a.py":1:2) at "b.py":3:4))

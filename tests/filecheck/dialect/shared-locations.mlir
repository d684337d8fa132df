// RUN: fuse-opt %s --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --print-debuginfo | fuse-opt --print-debuginfo | filecheck %s
// RUN: fuse-opt %s --fuse-ops --print-debuginfo | filecheck %s --check-prefix=FUSED
// RUN: sed 's/@shared(%x: tensor<4xf32>)/@argument(%x: tensor<4xf32> loc(#deep))/' %s | fuse-opt --print-debuginfo | filecheck %s --check-prefix=EARLY

// What a block argument names is printed before the module, as MLIR wants it.
// EARLY: #loc = loc(callsite("f"("a.py":1:2) at "b.py":3:4))
// EARLY-NEXT: #loc1 = loc("name"(fused<"why">[#loc, #loc]))
// EARLY-NEXT: builtin.module
// EARLY: func.func @argument(%x: tensor<4xf32> loc(#loc1)) -> tensor<4xf32>

// A location that is made of others and used twice is printed once, behind the module; forty levels are forty lines.
// CHECK: %0 = stablehlo.tanh %x : tensor<4xf32> loc(#loc2)
// CHECK-NEXT: %1 = stablehlo.sine %0 : tensor<4xf32> loc(callsite("g" at "h"))
// CHECK: #loc = loc(callsite("f"("a.py":1:2) at "b.py":3:4))
// CHECK-NEXT: #loc1 = loc(fused<"why">[#loc, #loc])
// CHECK-NEXT: #loc2 = loc("name"(#loc1))
// CHECK-NOT: #loc3

// A call has the location of its group's root, by the same name.
// FUSED: func.call @fused_tanh_sine_add(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc2)
// FUSED: stablehlo.add %1, %1 : tensor<4xf32> loc(#loc2)
func.func @shared(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32> loc(#deep)
  %1 = stablehlo.sine %0 : tensor<4xf32> loc(callsite("g" at "h"))
  %2 = stablehlo.add %1, %1 : tensor<4xf32> loc(#deep)
  return %2 : tensor<4xf32>
}
#deep = loc("name"(#twice))
#twice = loc(fused<"why">[#once, #once])
#once = loc(callsite("f"("a.py":1:2) at "b.py":3:4))

// RUN: fuse-opt %s --inline-fused | fuse-opt | fuse-opt | filecheck %s

// The operand of `fuse.fused` is defined in a block that is printed later. Another value must not get its name.

func.func @later(%c: i1, %a: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^entry
^use:
  %0 = func.call @fused_exp(%v) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
^entry:
  %v = "test.op"() : () -> tensor<4xf32>
  %w = func.call @fused_relu(%v) : (tensor<4xf32>) -> tensor<4xf32>
  cf.cond_br %c, ^use, ^last
^last:
  func.return %w : tensor<4xf32>
}
func.func private @fused_exp(%v: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %1 = fuse.exp %v : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @fused_relu(%v: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %1 = fuse.relu %v : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @later
// CHECK: fuse.fused "fused_exp"(%v)
// CHECK-NEXT: ^bb0(%v_1: tensor<4xf32>):
// CHECK: %v = "test.op"()
// CHECK: fuse.fused "fused_relu"(%v)

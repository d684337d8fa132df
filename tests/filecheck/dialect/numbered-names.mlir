// RUN: fuse-opt %s | fuse-opt | filecheck %s

// Values are numbered anew when they are printed: what is printed is read again, whatever numbers names had.

// CHECK:      %a_1 = fuse.exp %a
// CHECK-NEXT: %a_2 = fuse.tanh %a_1
// CHECK-NEXT: return %a_2
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %a_7 = fuse.exp %a : tensor<4xf32>
  %a_1_2 = fuse.tanh %a_7 : tensor<4xf32>
  return %a_1_2 : tensor<4xf32>
}

// RUN: fuse-run %s --random-inputs 0 | filecheck %s

// CHECK: result0: tensor<4xf32> = [0.0, 0.0, 0.0, 0.0]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.subtract %x, %x : tensor<4xf32>
  return %a : tensor<4xf32>
}

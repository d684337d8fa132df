// RUN: fuse-opt %s --fuse-ops-hw="template=gemmini" --fuse-ops-hw="template=ethos-u" | filecheck %s
// RUN: fuse-opt %s --fuse-ops-hw="template=ethos-u" --defuse-ops | filecheck %s --check-prefix=DEFUSED

// What a run writes takes the place of what an earlier one has written, and goes with the function.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.sigmoid %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK:   fuse.sigmoid %x {fuse.unit = "lut"} : tensor<4xf32>
// DEFUSED: fuse.sigmoid %x : tensor<4xf32>

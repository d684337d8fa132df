// RUN: fuse-opt %s --fuse-ops-hw -t trips-json | filecheck %s
// RUN: not fuse-opt %s -t trips-json 2>&1 | filecheck %s --check-prefix=NONE

// What a trip does, and the calls around it.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.relu %x : tensor<4xf32>
  %b = fuse.exp %a : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
// CHECK:      "format": "fuse-trips/1"
// CHECK:      "name": "fused_relu"
// CHECK-NEXT: "template": "opu"
// CHECK:      "op": "fuse.relu"
// CHECK-NEXT: "unit": "compare"
// CHECK:      "trip": "fused_relu"
// CHECK:      "host": "fuse.exp"
// CHECK:      "reason": "no-unit: no unit runs this operator"
// NONE: error: the module has no trips: --fuse-ops-hw makes them

// RUN: fuse-opt %s --fuse-ops | filecheck %s
// RUN: fuse-opt %s --fuse-ops="link-params=true" | filecheck %s --check-prefix=EMBED

// The region of a terminator reads values, too: they are alive.
func.func @terminator(%x: tensor<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %s = "scf.parallel"(%c0, %n, %c1, %f) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    %t = fuse.tanh %x : tensor<4xf32>
    %g = arith.constant 2.0 : f32
    "scf.reduce"(%g) ({
    ^bb1(%l: f32, %r: f32):
      %e = "tensor.extract"(%t, %c0) : (tensor<4xf32>, index) -> f32
      %q = arith.mulf %r, %e : f32
      "scf.reduce.return"(%q) : (f32) -> ()
    }) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  func.return %s : f32
}
// CHECK-LABEL: func.func @terminator
// CHECK:           %t = func.call @fused_tanh(%x)
// CHECK:             tensor.extract %t

// A constant that is embedded reaches into regions.
func.func @constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 2.0 : f16
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %k = arith.extf %c : f16 to f32
    %r = arith.mulf %i, %k : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// EMBED-LABEL: func.func @constant
// EMBED-NEXT:    func.call @[[NAME:fused_generic.*]](%x)
// EMBED:       func.func private @[[NAME]](
// EMBED-NEXT:    %c = arith.constant 2.0
// EMBED-NEXT:    linalg.generic
// EMBED:           arith.extf %c

// REQUIRES: onnx
// RUN: fuse-opt %s --fuse-ops -t 'onnx{text=true}' | filecheck %s
// RUN: fuse-opt %s --fuse-ops -t onnx -o %t.onnx && fuse-run %s --random-inputs 0 --compare-with %t.onnx | filecheck %s --check-prefix=SAME
// RUN: fuse-opt %s --fuse-ops -t onnx > %t2.onnx && cmp %t.onnx %t2.onnx

// A group is a local function, which the graph calls; a weight is an initializer, a scalar of the group a constant node.

// SAME: result0: max absolute error 0
// CHECK:      opset_import: ["" : {{[0-9]+}}, "fuse" : 1]
// CHECK:      main (float[1,4] x) => (float[1,2] result0)
// CHECK-NEXT:   <float[2,4] w
// CHECK:        result0 = fuse.fused_dense_multiply_relu (x, w)
// CHECK:      <
// CHECK-NEXT:   domain: "fuse",
// CHECK:      fused_dense_multiply_relu (x, w) => (result0)
// CHECK:        half = Constant <value: tensor = float {0.5}> ()
// CHECK:        y = Gemm <transB: int = 1> (x, w)
// CHECK:        z = Mul (y, half)
// CHECK:        result0 = Relu (z)
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %y = fuse.dense %x, %w : (tensor<1x4xf32>, tensor<2x4xf32>)
  %z = fuse.multiply %y, %half : (tensor<1x2xf32>, tensor<f32>)
  %r = fuse.relu %z : tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}

// REQUIRES: onnx
// RUN: not fuse-opt %s -t onnx -o %t.onnx 2>&1 | filecheck %s
// RUN: not fuse-opt %s -t onnx --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT
// RUN: not fuse-opt %s -t onnx --weights %t.safetensors 2>&1 | filecheck %s --check-prefix=FOLDER

// An op without a row is an error at its place.

// CHECK: onnx-invalid.mlir:14:8: error: 'math.exp' op cannot be written as ONNX
// CHECK-NOT: Traceback
// SPLIT: error: argument -t/--target: one ONNX model cannot hold the parts of --split-input-file
// FOLDER: error: argument --weights: an ONNX model takes weights only from files in its own folder
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = fuse.relu %x : tensor<4xf32>
  %y = math.exp %a : tensor<4xf32>
  return %y : tensor<4xf32>
}

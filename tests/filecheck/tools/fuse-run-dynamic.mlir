// RUN: fuse-run %s --random-inputs 0 --dynamic-dim 3 | filecheck %s
// RUN: fuse-opt %s --fuse-ops | fuse-run - --random-inputs 0 --dynamic-dim 3 | filecheck %s
// RUN: fuse-run %s --entry named --random-inputs 0 --dynamic-dim n=3 --dynamic-dim 5 | filecheck %s --check-prefix=NAMED
// RUN: not fuse-run %s --entry named --random-inputs 0 --dynamic-dim k=3 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not fuse-run %s --entry negative 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not fuse-run %s --entry huge 2>&1 | filecheck %s --check-prefix=HUGE
// RUN: not fuse-run %s --entry outer --random-inputs 0 --dynamic-dim 100000 2>&1 | filecheck %s --check-prefix=OUTER
// RUN: not fuse-run %s --entry outer --random-inputs 0 --dynamic-dim 100000 --backend llvm 2>&1 | filecheck %s --check-prefix=OUTER
// RUN: not fuse-run %s --entry outer --random-inputs 0 --dynamic-dim 10 --max-value-bytes 200 2>&1 | filecheck %s --check-prefix=LIMIT
// RUN: not fuse-run %s --entry outer --random-inputs 0 --dynamic-dim 2000000000 2>&1 | filecheck %s --check-prefix=INPUT
// RUN: not fuse-run %s --entry growing --random-inputs 0 --max-value-bytes 1000 2>&1 | filecheck %s --check-prefix=GROWING

// Sizes are computed from those of the input.
// CHECK: result0: tensor<6xi64> = [0, 1, 2, 3, 4, 5]
// CHECK: result1: tensor<2xi64> = [3, 4]
func.func @main(%x: tensor<?x4xf32>) -> (tensor<?xi64>, tensor<2xi64>) {
  %shape = fuse.shape_of %x : (tensor<?x4xf32>)
  %at = arith.constant dense<0> : tensor<i64>
  %rows = fuse.take %shape, %at, axis = 0 : (tensor<2xi64>, tensor<i64>)
  %twice = fuse.add %rows, %rows : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %y = fuse.dyn_arange %at, %twice, %one : (tensor<i64>, tensor<i64>, tensor<i64>)
  return %y, %shape : tensor<?xi64>, tensor<2xi64>
}

// NAMED:   result0: tensor<2xi64> = [3, 5]
// UNKNOWN: fuse-run-dynamic.mlir{{.*}}: error: no argument has a size 'k'
func.func @named(%x: tensor<?x?xf32> {fuse.sizes = ["n", ""]}) -> tensor<2xi64> {
  %shape = fuse.shape_of %x : (tensor<?x?xf32>)
  return %shape : tensor<2xi64>
}

// NEGATIVE: fuse-run-dynamic.mlir:{{[0-9]+}}:8: error: 'fuse.dyn_full' op cannot be run: expects sizes of at least 0, got [2, -3]
func.func @negative() -> tensor<?x?xf32> {
  %a = arith.constant dense<1.0> : tensor<f32>
  %shape = arith.constant dense<[2, -3]> : tensor<2xi64>
  %y = fuse.dyn_full %a, %shape : (tensor<f32>, tensor<2xi64>)
  return %y : tensor<?x?xf32>
}

// A wrong number must not take all memory.
// HUGE: fuse-run-dynamic.mlir:{{[0-9]+}}:8: error: 'fuse.dyn_full' op cannot be run: expects a result of at most 4294967296 bytes, got tensor<1000000x1000000xf32> of 4000000000000 bytes
func.func @huge() -> tensor<?x?xf32> {
  %a = arith.constant dense<1.0> : tensor<f32>
  %shape = arith.constant dense<1000000> : tensor<2xi64>
  %y = fuse.dyn_full %a, %shape : (tensor<f32>, tensor<2xi64>)
  return %y : tensor<?x?xf32>
}

// Nor may the sizes of inputs, by way of an op whose type says nothing of them.
// OUTER:      fuse-run-dynamic.mlir:{{[0-9]+}}:8: error: 'fuse.multiply' op cannot be run: expects a result of at most 4294967296 bytes, got {{.*}}100000x100000{{.*}} of 40000000000 bytes
// OUTER:      hint: --max-value-bytes raises the limit
// LIMIT:      fuse-run-dynamic.mlir:{{[0-9]+}}:8: error: 'fuse.multiply' op cannot be run: expects a result of at most 200 bytes, got tensor<10x10xf32> of 400 bytes
// INPUT:      fuse-run-dynamic.mlir{{.*}} error: no random value for input 'x': expects a result of at most 4294967296 bytes, got tensor<2000000000x1xf32>
func.func @outer(%x: tensor<?x1xf32>, %y: tensor<1x?xf32>) -> tensor<?x?xf32> {
  %z = fuse.multiply %x, %y : (tensor<?x1xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// What a loop makes grows by a row in every iteration.
// GROWING: fuse-run-dynamic.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'fuse.concatenate' op cannot be run: expects a result of at most 1000 bytes, got tensor<256xf32> of 1024 bytes
func.func @growing(%x: tensor<?xf32>) -> tensor<?xf32> {
  %n = arith.constant dense<100> : tensor<i64>
  %y = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<?xf32>) -> (tensor<?xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<?xf32>):
    %t = fuse.concatenate %s, %s, axis = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    fuse.yield %t : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

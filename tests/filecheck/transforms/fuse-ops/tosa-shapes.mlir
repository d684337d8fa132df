// RUN: fuse-opt %s -p fuse-ops | filecheck %s
// RUN: fuse-opt %s -p "fuse-ops{strategy=cost machine=cpu-avx512}" | filecheck %s

// MLIR takes no list of sizes as an argument: it wants to find the constant beside each op that reads the list.

// CHECK-LABEL: func.func @moves_with_its_reader
func.func @moves_with_its_reader(%x: tensor<2x6xf32>) -> tensor<3x4xf32> {
  // CHECK-NOT: tosa.const_shape
  // CHECK: call @[[NAME:.*]](%x) : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %0 = tosa.exp %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %s = tosa.const_shape {values = dense<[3, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %1 = tosa.reshape %0, %s : (tensor<2x6xf32>, !tosa.shape<2>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
// CHECK: func.func private @[[NAME]](%x: tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[S:.*]] = tosa.const_shape
// CHECK: tosa.reshape %{{.*}}, %[[S]]

// Each of several readers gets one of its own.
// CHECK-LABEL: func.func @has_several_readers
func.func @has_several_readers(%x: tensor<2x6xf32>, %y: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  // CHECK-NOT: !tosa.shape
  // CHECK: return
  %s = tosa.const_shape {values = dense<[3, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.reshape %x, %s : (tensor<2x6xf32>, !tosa.shape<2>) -> tensor<3x4xf32>
  %1 = tosa.exp %y : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = tosa.reshape %1, %s : (tensor<2x6xf32>, !tosa.shape<2>) -> tensor<3x4xf32>
  return %0, %2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// What reads a list that is computed stays beside it.
// CHECK-LABEL: func.func @reads_a_computed_shape
func.func @reads_a_computed_shape(%x: tensor<2x6xf32>) -> tensor<?x?xf32> {
  // CHECK: %[[E:.*]] = func.call
  // CHECK: %[[A:.*]] = tosa.const_shape
  // CHECK: %[[B:.*]] = tosa.const_shape
  // CHECK: %[[C:.*]] = tosa.concat_shape %[[A]], %[[B]]
  // CHECK: %[[R:.*]] = tosa.reshape %[[E]], %[[C]]
  // CHECK: func.call {{.*}}(%[[R]])
  %0 = tosa.exp %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %a = tosa.const_shape {values = dense<3> : tensor<1xindex>} : () -> !tosa.shape<1>
  %b = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  %c = tosa.concat_shape %a, %b : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<2>
  %1 = tosa.reshape %0, %c : (tensor<2x6xf32>, !tosa.shape<2>) -> tensor<?x?xf32>
  %2 = tosa.tanh %1 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

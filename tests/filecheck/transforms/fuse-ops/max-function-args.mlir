// RUN: fuse-opt %s --fuse-ops="max-function-args=4" | filecheck %s
// RUN: fuse-opt %s --fuse-ops="max-function-args=100" | filecheck %s --check-prefix=LOOSE

// Four summands and the result are 5 arguments: the first addition stays alone.
func.func @sum_of_four(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8xf32> {
  %0 = fuse.add %a, %b : tensor<8xf32>
  %1 = fuse.add %0, %c : tensor<8xf32>
  %2 = fuse.add %1, %d : tensor<8xf32>
  func.return %2 : tensor<8xf32>
}
// CHECK-LABEL: func.func @sum_of_four
// CHECK-NEXT:    [[AB:%.*]] = func.call @fused_add_add(%a, %b, %c)
// CHECK-NEXT:    func.call @fused_add([[AB]], %d)
// CHECK-NEXT:    func.return
// LOOSE-LABEL: func.func @sum_of_four
// LOOSE-NEXT:    func.call @fused_add_add_add(%a, %b, %c, %d)

// A dynamic dimension counts as one more argument: two for the argument, two for the result.
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = fuse.exp %x : tensor<?xf32>
  %1 = fuse.tanh %0 : tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT:    func.call @fused_exp_tanh(%x)

func.func @dynamic_with_another_argument(%x: tensor<?xf32>, %y: tensor<f32>) -> tensor<?xf32> {
  %0 = fuse.exp %x : tensor<?xf32>
  %1 = fuse.add %0, %y : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
// CHECK-LABEL: func.func @dynamic_with_another_argument
// CHECK-NEXT:    [[E:%.*]] = func.call @fused_exp(%x)
// CHECK-NEXT:    func.call @fused_add_0([[E]], %y)

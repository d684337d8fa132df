// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops-hw="template=npu" | filecheck %s
// RUN: fuse-opt %s --allow-unregistered-dialect --fuse-ops="link-params=true" | filecheck %s --check-prefix=HOST

fuse.hardware @npu source @a {
  fuse.hardware_unit @a kind "a"
  fuse.hardware_map "stablehlo.add" to ["a"]
  fuse.hardware_map "linalg.add" to ["a"]
}

// Functions are shared only if their constants are the same, also where these are discardable attributes.
func.func @attributes(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %c = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %d = "stablehlo.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "stablehlo.add"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.add"(%x, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: func.func @attributes
// CHECK-NEXT:    func.call @[[ONE:fused_add.*]](%x)
// CHECK-NEXT:    func.call @[[TWO:fused_add.*]](%x)
// CHECK:       func.func private @[[ONE]](
// CHECK-NEXT:    %{{.*}} = stablehlo.constant dense<1.0
// CHECK:       func.func private @[[TWO]](
// CHECK-NEXT:    %{{.*}} = stablehlo.constant dense<2.0
// HOST:        stablehlo.constant dense<1.0
// HOST:        stablehlo.constant dense<2.0

// An empty tensor of a size that is computed is no constant: it would have to be computed in the function, too.
func.func @computed_size(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// CHECK-LABEL: func.func @computed_size
// CHECK-NEXT:    %e = tensor.empty(%n)
// CHECK-NEXT:    func.call @fused_add{{.*}}(%x, %e)
// HOST-LABEL:  func.func @computed_size
// HOST-NEXT:     %e = tensor.empty(%n)
// HOST-NEXT:     func.call @fused_add{{.*}}(%x, %e)

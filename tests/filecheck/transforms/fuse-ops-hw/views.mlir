// RUN: fuse-opt %s --fuse-ops-hw="template=npu" | filecheck %s

fuse.hardware @npu source @a operands 2 buffer_bytes 100 {
  fuse.hardware_unit @a kind "a"
  fuse.hardware_map "fuse.relu" to ["a"]
  fuse.hardware_virtual "fuse.reshape"
}

// A view at the end of a trip passes between no two units, so no buffer has to hold it.
func.func @end(%x: tensor<1x4x8x8xf32>) -> tensor<256xf32> {
  %0 = fuse.relu %x : tensor<1x4x8x8xf32>
  %v = fuse.reshape %0 : (tensor<1x4x8x8xf32>) -> tensor<256xf32>
  return %v : tensor<256xf32>
}
// CHECK-LABEL: func.func @end
// CHECK-NEXT:    func.call @fused_relu_reshape(%x)

// A view that belongs to no group says so, as other operators do.
func.func @alone(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %v = fuse.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  return %v : tensor<2x2xf32>
}
// CHECK-LABEL: func.func @alone
// CHECK-NEXT:    fuse.reshape %x {fuse.hardware_reason = "no-unit: no unit is needed, but no group gives or reads all its data either"}

// Tuples cost nothing either: one that stands between two operators of a trip goes along.
func.func @tuple(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fuse.relu %x : tensor<4xf32>
  %t = fuse.tuple %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %f = fuse.get_tuple_element %t, index = 1 : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %f : tensor<4xf32>
}
// CHECK-LABEL: func.func @tuple
// CHECK-NEXT:    %f = func.call @fused_relu{{.*}}(%x)
// CHECK-NEXT:    func.return %f

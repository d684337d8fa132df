// RUN: FUSE_ROUNDTRIP

// The type of a tuple follows from its fields; without fields it is spelled out.
// CHECK-LABEL: func.func @tuples_hold_tensors_and_tuples
func.func @tuples_hold_tensors_and_tuples(%a: tensor<2xf32>, %b: tensor<?xi8>) {
  // CHECK: fuse.tuple %a, %b : (tensor<2xf32>, tensor<?xi8>) -> tuple<tensor<2xf32>, tensor<?xi8>>
  %0 = fuse.tuple %a, %b : (tensor<2xf32>, tensor<?xi8>)
  // CHECK: fuse.tuple %{{.*}}, %a : (tuple<tensor<2xf32>, tensor<?xi8>>, tensor<2xf32>) -> tuple<tuple<tensor<2xf32>, tensor<?xi8>>, tensor<2xf32>>
  %1 = fuse.tuple %0, %a : (tuple<tensor<2xf32>, tensor<?xi8>>, tensor<2xf32>)
  // CHECK: fuse.tuple %a : (tensor<2xf32>) -> tuple<tensor<2xf32>>
  %2 = fuse.tuple %a : (tensor<2xf32>)
  // CHECK: fuse.tuple -> tuple<>
  %3 = fuse.tuple -> tuple<>
  return
}

// An element may be a tuple itself.
// CHECK-LABEL: func.func @elements_have_the_types_of_the_fields
func.func @elements_have_the_types_of_the_fields(%t: tuple<tensor<2xf32>, tuple<tensor<i1>>>) {
  // CHECK: fuse.get_tuple_element %t, index = 0 : (tuple<tensor<2xf32>, tuple<tensor<i1>>>) -> tensor<2xf32>
  %0 = fuse.get_tuple_element %t, index = 0 : (tuple<tensor<2xf32>, tuple<tensor<i1>>>)
  // CHECK: fuse.get_tuple_element %t, index = 1 : (tuple<tensor<2xf32>, tuple<tensor<i1>>>) -> tuple<tensor<i1>>
  %1 = fuse.get_tuple_element %t, index = 1 : (tuple<tensor<2xf32>, tuple<tensor<i1>>>)
  return
}

// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects result 0 of type tuple<tensor<2xf32>>, got tuple<tensor<3xf32>>
func.func @tuple(%a: tensor<2xf32>) {
  %r = fuse.tuple %a : (tensor<2xf32>) -> tuple<tensor<3xf32>>
  return
}

// -----

// CHECK: 'fuse.get_tuple_element' op expects an index in [0, 1), got 1
func.func @index_out_of_range(%a: tuple<tensor<2xf32>>) {
  %r = fuse.get_tuple_element %a, index = 1 : (tuple<tensor<2xf32>>)
  return
}

// -----

// CHECK: 'fuse.get_tuple_element' op expects a tuple, got tensor<2xf32>
func.func @not_a_tuple(%a: tensor<2xf32>) {
  %r = fuse.get_tuple_element %a, index = 0 : (tensor<2xf32>)
  return
}

// -----

// CHECK: expects result 0 of type tensor<2xf32>, got tensor<3xf32>
func.func @type_of_another_element(%a: tuple<tensor<2xf32>>) {
  %r = fuse.get_tuple_element %a, index = 0 : (tuple<tensor<2xf32>>) -> tensor<3xf32>
  return
}

// RUN: fuse-opt %s --refine-shapes | filecheck %s

// The shape of a static tensor is a constant, and so is what is computed from it.
// CHECK-LABEL: func.func @arithmetic
// CHECK-NEXT:    %[[Y:.*]] = fuse.reshape %x : (tensor<2x6xf32>) -> tensor<4x3xf32>
// CHECK-NEXT:    func.return %[[Y]] : tensor<4x3xf32>
func.func @arithmetic(%x: tensor<2x6xf32>) -> tensor<?x?xf32> {
  %shape = fuse.shape_of %x : (tensor<2x6xf32>)
  %factors = arith.constant dense<[2, 1]> : tensor<2xi64>
  %divisors = arith.constant dense<[1, 2]> : tensor<2xi64>
  %more = fuse.multiply %shape, %factors : tensor<2xi64>
  %wanted = fuse.divide %more, %divisors : tensor<2xi64>
  %y = fuse.dyn_reshape %x, %wanted : (tensor<2x6xf32>, tensor<2xi64>)
  return %y : tensor<?x?xf32>
}

// One static size is enough to know one element of the shape.
// CHECK-LABEL: func.func @one_element
// CHECK:         fuse.broadcast_to %w : (tensor<1xf32>) -> tensor<6xf32>
func.func @one_element(%x: tensor<?x6xf32>, %w: tensor<1xf32>) -> tensor<?xf32> {
  %shape = fuse.shape_of %x : (tensor<?x6xf32>)
  %last = fuse.strided_slice %shape, begin = [1], end = [2] : (tensor<2xi64>)
  %y = fuse.dyn_broadcast_to %w, %last : (tensor<1xf32>, tensor<1xi64>)
  return %y : tensor<?xf32>
}

// Types of results follow refined operands.
// CHECK-LABEL: func.func @users
// CHECK:         fuse.relu {{.*}} : tensor<4x3xf32>
// CHECK:         fuse.reshape {{.*}} : (tensor<4x3xf32>) -> tensor<12xf32>
// CHECK:         func.return {{.*}} : tensor<12xf32>
func.func @users(%a: tensor<f32>) -> tensor<?xf32> {
  %shape = arith.constant dense<[4, 3]> : tensor<2xi64>
  %x = fuse.dyn_full %a, %shape : (tensor<f32>, tensor<2xi64>)
  %y = fuse.relu %x : tensor<?x?xf32>
  %z = fuse.reshape %y : (tensor<?x?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}

// Sizes of one name are one size: nothing to broadcast, and nothing to compute.
// CHECK-LABEL: func.func @names
// CHECK-NOT:     dyn_
// CHECK-NOT:     shape_of
// CHECK:         fuse.add
func.func @names(%x: tensor<?x1xf32> {fuse.sizes = ["n", ""]}, %y: tensor<?x3xf32> {fuse.sizes = ["n", ""]}) -> tensor<?x3xf32> {
  %shape = fuse.shape_of %y : (tensor<?x3xf32>)
  %wide = fuse.dyn_broadcast_to %x, %shape : (tensor<?x1xf32>, tensor<2xi64>)
  %z = fuse.add %wide, %y : (tensor<?x?xf32>, tensor<?x3xf32>)
  return %z : tensor<?x3xf32>
}

// One argument knows the size that the other names.
// CHECK-LABEL: func.func @argument
// CHECK-SAME:    (%x: tensor<7xf32> {fuse.sizes = ["n"]}, %y: tensor<7xf32> {fuse.sizes = ["n"]}) -> tensor<7xf32>
func.func @argument(%x: tensor<7xf32> {fuse.sizes = ["n"]}, %y: tensor<?xf32> {fuse.sizes = ["n"]}) -> tensor<?xf32> {
  %z = fuse.add %y, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}

// What a name passes through keeps the name: the end of a slice is the end of the axis.
// CHECK-LABEL: func.func @through_ops
// CHECK:         fuse.strided_slice {{.*}}, begin = [1], end = [9223372036854775807], strides = [1], axes = [1]
func.func @through_ops(%x: tensor<?x3x8x8xf32> {fuse.sizes = ["n", "", "", ""]}, %w: tensor<4x3x3x3xf32>) -> tensor<4x?xf32> {
  %c = fuse.conv2d %x, %w : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>)
  %m = fuse.mean %c, axes = [2, 3] : (tensor<?x4x6x6xf32>)
  %t = fuse.transpose %m, permutation = [1, 0] : (tensor<?x4xf32>)
  %shape = fuse.shape_of %x : (tensor<?x3x8x8xf32>)
  %n = fuse.strided_slice %shape, begin = [0], end = [1] : (tensor<4xi64>)
  %one = arith.constant dense<1> : tensor<1xi64>
  %y = fuse.dyn_strided_slice %t, %one, %n, %one, axes = [1] : (tensor<4x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
  return %y : tensor<4x?xf32>
}

// Without names two open sizes may differ.
// CHECK-LABEL: func.func @no_names
// CHECK:         fuse.dyn_broadcast_to
func.func @no_names(%x: tensor<?x1xf32>, %y: tensor<?x3xf32>) -> tensor<?x?xf32> {
  %shape = fuse.shape_of %y : (tensor<?x3xf32>)
  %wide = fuse.dyn_broadcast_to %x, %shape : (tensor<?x1xf32>, tensor<2xi64>)
  return %wide : tensor<?x?xf32>
}

// Numbers that are no shape stay: whoever runs the program shall hear of them.
// CHECK-LABEL: func.func @wrong
// CHECK:         fuse.dyn_reshape
func.func @wrong(%x: tensor<5xf32>) -> tensor<?x?xf32> {
  %shape = arith.constant dense<[2, 3]> : tensor<2xi64>
  %y = fuse.dyn_reshape %x, %shape : (tensor<5xf32>, tensor<2xi64>)
  return %y : tensor<?x?xf32>
}

// A function that is called keeps its type, and a value keeps that with which a call reads it.
// CHECK-LABEL: func.func @caller
// CHECK:         fuse.dyn_full {{.*}} -> tensor<?xf32>
// CHECK-LABEL: func.func private @callee(%x: tensor<?xf32>) -> tensor<?xf32>
func.func @caller(%a: tensor<f32>) -> tensor<?xf32> {
  %shape = arith.constant dense<4> : tensor<1xi64>
  %x = fuse.dyn_full %a, %shape : (tensor<f32>, tensor<1xi64>)
  %y = func.call @callee(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func private @callee(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = fuse.relu %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// Inside a branch ops are refined, too; what the branch yields keeps its type.
// CHECK-LABEL: func.func @branch
// CHECK:         fuse.broadcast_to %y : tensor<?x4xf32>
func.func @branch(%x: tensor<?x4xf32>, %c: tensor<i1>) -> tensor<?x4xf32> {
  %y = fuse.relu %x : tensor<?x4xf32>
  %r = fuse.if(%c : tensor<i1>) -> (tensor<?x4xf32>) {
    %shape = fuse.shape_of %y : (tensor<?x4xf32>)
    %z = fuse.dyn_broadcast_to %y, %shape : (tensor<?x4xf32>, tensor<2xi64>)
    fuse.yield %z : tensor<?x4xf32>
  } else {
    fuse.yield %y : tensor<?x4xf32>
  }
  return %r : tensor<?x4xf32>
}

// Elements stay as they are declared, where an op may give several types.
// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<?x4xf32>) -> tensor<?x4xi64> {
  // CHECK-NEXT: fuse.argsort %x : (tensor<?x4xf32>) -> tensor<?x4xi64>
  %y = fuse.argsort %x : (tensor<?x4xf32>) -> tensor<?x4xi64>
  return %y : tensor<?x4xi64>
}

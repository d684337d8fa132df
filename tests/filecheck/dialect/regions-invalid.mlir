// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects something that ends the loop: a limit, rows, or a condition
func.func @without_end(%x: tensor<f32>) {
  %r = fuse.loop states(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<f32>):
    fuse.yield %s : tensor<f32>
  }
  return
}

// -----

// CHECK: expects equally many rows, got 3 and 4
func.func @rows_of_different_number(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  fuse.loop rows(%x, %y : tensor<3xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<f32>, %t: tensor<f32>):
    fuse.yield
  }
  return
}

// -----

// CHECK: expects body arguments of the right types, number 1 tensor<f32>, got tensor<f64>
func.func @state_of_another_type(%x: tensor<f32>, %n: tensor<i64>) {
  %r = fuse.loop limit(%n : tensor<i64>) states(%x : tensor<f32>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<f64>):
    fuse.yield %x : tensor<f32>
  }
  return
}

// -----

// CHECK: expects results of the right types, number 0 tensor<?xf32>, got tensor<f32>
func.func @stack_without_axis(%x: tensor<f32>, %n: tensor<i64>) {
  %r = fuse.loop limit(%n : tensor<i64>) -> (tensor<f32>) {
  ^bb0(%i: tensor<i64>):
    fuse.yield %x : tensor<f32>
  }
  return
}

// -----

// CHECK: expects 'limit' of type tensor<i64>, got tensor<f32>
func.func @limit_of_another_type(%n: tensor<f32>) {
  fuse.loop limit(%n : tensor<f32>) {
  ^bb0(%i: tensor<i64>):
    fuse.yield
  }
  return
}

// -----

// CHECK: fuse.relu terminates block in single-block region but is not a terminator
func.func @a_body_without_end(%n: tensor<i64>, %x: tensor<f32>) {
  fuse.loop limit(%n : tensor<i64>) {
  ^bb0(%i: tensor<i64>):
    %y = fuse.relu %x : tensor<f32>
  }
  return
}

// -----

// CHECK: expects 1 values of the region 'else', got 0
func.func @a_branch_that_yields_less(%c: tensor<i1>, %x: tensor<f32>) {
  %r = fuse.if(%c : tensor<i1>) -> (tensor<f32>) {
    fuse.yield %x : tensor<f32>
  } else {
    fuse.yield
  }
  return
}

// RUN: fuse-opt --convert-stablehlo-to-fuse --split-input-file %s | filecheck %s

// A scan: %x comes in row by row, %sums is a stack, the counter is the loop's own.
// CHECK-LABEL: func.func @scan
// CHECK:         %[[R:.*]], %[[S:.*]] = fuse.loop states(%{{.*}} : tensor<4xf32>) rows(%x : tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
// CHECK-NEXT:    ^{{.*}}(%{{.*}}: tensor<i64>, %[[SUM:.*]]: tensor<4xf32>, %[[ROW:.*]]: tensor<4xf32>):
// CHECK-NOT:       fuse.take
// CHECK:           %[[NEXT:.*]] = fuse.add %[[SUM]], %[[ROW]]
// CHECK:           fuse.yield %[[NEXT]], %[[NEXT]]
// CHECK:         return %[[R]], %[[S]]
func.func @scan(%x: tensor<8x4xf32>, %first: tensor<4xf32>, %all: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<8x4xf32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = "stablehlo.while"(%x, %i, %first, %all) ({
  ^bb0(%a: tensor<8x4xf32>, %k: tensor<i32>, %s: tensor<4xf32>, %o: tensor<8x4xf32>):
    %n = stablehlo.constant dense<8> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<8x4xf32>, %k: tensor<i32>, %s: tensor<4xf32>, %o: tensor<8x4xf32>):
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %part = stablehlo.dynamic_slice %a, %k, %z, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %row = stablehlo.reshape %part : (tensor<1x4xf32>) -> tensor<4xf32>
    %t = stablehlo.add %s, %row : tensor<4xf32>
    %u = stablehlo.reshape %t : (tensor<4xf32>) -> tensor<1x4xf32>
    %w = stablehlo.dynamic_update_slice %o, %u, %k, %z : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %a, %m, %t, %w : tensor<8x4xf32>, tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
  }) : (tensor<8x4xf32>, tensor<i32>, tensor<4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<i32>, tensor<4xf32>, tensor<8x4xf32>)
  func.return %r#2, %r#3 : tensor<4xf32>, tensor<8x4xf32>
}

// -----

// From the end: rows are reversed before the loop, the stack behind it. Without rows, a tensor says how many there are.
// CHECK-LABEL: func.func @from_the_end
// CHECK:         %[[N:.*]] = arith.constant dense<false> : tensor<3xi1>
// CHECK:         %[[L:.*]], %[[S:.*]] = fuse.loop states({{.*}}) rows(%[[N]] : tensor<3xi1>)
// CHECK:         %[[BACK:.*]] = fuse.reverse %[[S]], axes = [0]
// CHECK:         return %[[BACK]]
func.func @from_the_end(%first: tensor<f32>, %all: tensor<3xf32>) -> tensor<3xf32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = "stablehlo.while"(%i, %first, %all) ({
  ^bb0(%k: tensor<i32>, %s: tensor<f32>, %o: tensor<3xf32>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%k: tensor<i32>, %s: tensor<f32>, %o: tensor<3xf32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %last = stablehlo.constant dense<2> : tensor<i32>
    %at = stablehlo.subtract %last, %k : tensor<i32>
    %t = stablehlo.add %s, %s : tensor<f32>
    %u = stablehlo.reshape %t : (tensor<f32>) -> tensor<1xf32>
    %w = stablehlo.dynamic_update_slice %o, %u, %at : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %t, %w : tensor<i32>, tensor<f32>, tensor<3xf32>
  }) : (tensor<i32>, tensor<f32>, tensor<3xf32>) -> (tensor<i32>, tensor<f32>, tensor<3xf32>)
  func.return %r#2 : tensor<3xf32>
}

// -----

// It counts, but reads only half of the rows and looks at what it has written: nothing moves, and a limit ends it.
// CHECK-LABEL: func.func @only_counts
// CHECK:         %[[N:.*]] = arith.constant dense<4> : tensor<i64>
// CHECK:         fuse.loop limit(%[[N]] : tensor<i64>) states(%{{.*}} : tensor<8xf32>) -> (tensor<8xf32>) {
func.func @only_counts(%all: tensor<8xf32>) -> (tensor<8xf32>, tensor<i32>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.while"(%i, %all) ({
  ^bb0(%k: tensor<i32>, %o: tensor<8xf32>):
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%k: tensor<i32>, %o: tensor<8xf32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %part = stablehlo.dynamic_slice %o, %k, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
    %t = stablehlo.add %part, %part : tensor<1xf32>
    %w = stablehlo.dynamic_update_slice %o, %t, %k : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %w : tensor<i32>, tensor<8xf32>
  }) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>)
  func.return %r#1, %r#0 : tensor<8xf32>, tensor<i32>
}

// -----

// It does not begin at 0.
// CHECK-LABEL: func.func @begins_elsewhere
// CHECK:         fuse.loop while(
func.func @begins_elsewhere(%x: tensor<f32>) -> tensor<f32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = "stablehlo.while"(%i, %x) ({
  ^bb0(%k: tensor<i32>, %s: tensor<f32>):
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%k: tensor<i32>, %s: tensor<f32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %t = stablehlo.add %s, %s : tensor<f32>
    %m = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %m, %t : tensor<i32>, tensor<f32>
  }) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  func.return %r#1 : tensor<f32>
}

// RUN: fuse-opt %s --convert-layout="if-profitable=true machine=cpu-avx512" --remarks-filter=. --remarks-verbose -o /dev/null 2>&1 | filecheck %s
// RUN: fuse-opt %s --convert-layout --remarks-filter=. -o /dev/null 2>&1 | filecheck %s --check-prefix=ALWAYS --allow-empty

// A remark says of each op that names its layout what it takes in either, and what transposes of its own would.
// CHECK:      :14:8: remark: 'fuse.conv2d' op gets layout NHWC
// CHECK-NEXT: note: takes {{.*}} as it is, {{.*}} as NHWC; transposes of its own would take {{.*}}
// CHECK:      :15:8: remark: 'fuse.conv2d' op keeps its layout: layout-kept
// CHECK:      convert-layout: 1 passed: layout=1
// CHECK-NEXT: convert-layout: 1 missed: layout-kept=1

// Without the option nothing is weighed.
// ALWAYS-NOT: remark
func.func @main(%x: tensor<1x64x56x56xf32>, %v: tensor<64x1x7x7xf32>, %w: tensor<64x64x1x1xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
  %d = fuse.conv2d %x, %v, padding = [3, 3, 3, 3], groups = 64 : (tensor<1x64x56x56xf32>, tensor<64x1x7x7xf32>)
  %e = fuse.conv2d %x, %w : (tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32>)
  func.return %d, %e : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
}

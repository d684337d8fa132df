// RUN: fuse-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: expects approximate to be 'none' or 'tanh', got 'fast'
func.func @unknown_form(%x: tensor<2xf32>) {
  %y = fuse.gelu %x, approximate = "fast" : tensor<2xf32>
  return
}

// -----

// CHECK: expects bounds that are numbers, got nan
func.func @bound_nan(%x: tensor<2xf32>) {
  %y = fuse.clip %x, min = "nan" : tensor<2xf32>
  return
}

// -----

// CHECK: expects floating-point elements, got i32
func.func @integers(%x: tensor<2xi32>) {
  %y = fuse.leaky_relu %x : tensor<2xi32>
  return
}

// -----

// CHECK: expects numbers, got i1
func.func @relu_of_booleans(%x: tensor<2xi1>) {
  %y = fuse.relu %x : tensor<2xi1>
  return
}

// -----

// CHECK: 'fuse.clip' op property 'low': expected one of: min, max
func.func @unknown_property(%x: tensor<2xf32>) {
  %y = fuse.clip %x, low = 1.0 : tensor<2xf32>
  return
}

// RUN: FUSE_ROUNDTRIP

// Functions without properties.
// CHECK-LABEL: func.func @plain
func.func @plain(%x: tensor<1x?x7xf32>, %n: tensor<4xi32>) {
  // CHECK-NEXT: %relu = fuse.relu %x : tensor<1x?x7xf32>
  %relu = fuse.relu %x : tensor<1x?x7xf32>
  // CHECK-NEXT: %sigmoid = fuse.sigmoid %x : tensor<1x?x7xf32>
  %sigmoid = fuse.sigmoid %x : tensor<1x?x7xf32>
  // CHECK-NEXT: %softplus = fuse.softplus %x : tensor<1x?x7xf32>
  %softplus = fuse.softplus %x : tensor<1x?x7xf32>
  // CHECK-NEXT: %silu = fuse.silu %x : tensor<1x?x7xf32>
  %silu = fuse.silu %x : tensor<1x?x7xf32>
  // CHECK-NEXT: %hard_swish = fuse.hard_swish %x : tensor<1x?x7xf32>
  %hard_swish = fuse.hard_swish %x : tensor<1x?x7xf32>
  // CHECK-NEXT: %relu_n = fuse.relu %n : tensor<4xi32>
  %relu_n = fuse.relu %n : tensor<4xi32>
  return
}

// A property with its default value is not printed.
// CHECK-LABEL: func.func @defaults
func.func @defaults(%x: tensor<2xf32>) {
  // CHECK-NEXT: %leaky_relu = fuse.leaky_relu %x : tensor<2xf32>
  %leaky_relu = fuse.leaky_relu %x, alpha = 0.01 : tensor<2xf32>
  // CHECK-NEXT: %elu = fuse.elu %x : tensor<2xf32>
  %elu = fuse.elu %x, alpha = 1.0 : tensor<2xf32>
  // CHECK-NEXT: %hard_sigmoid = fuse.hard_sigmoid %x : tensor<2xf32>
  %hard_sigmoid = fuse.hard_sigmoid %x, beta = 0.5 : tensor<2xf32>
  // CHECK-NEXT: %gelu = fuse.gelu %x : tensor<2xf32>
  %gelu = fuse.gelu %x, approximate = "none" : tensor<2xf32>
  // CHECK-NEXT: %clip = fuse.clip %x : tensor<2xf32>
  %clip = fuse.clip %x : tensor<2xf32>
  return
}

// Properties come after the operand; integers do for real numbers.
// CHECK-LABEL: func.func @properties
func.func @properties(%x: tensor<?xf16>, %n: tensor<3xui8>) {
  // CHECK-NEXT: %leaky_relu = fuse.leaky_relu %x, alpha = 0.3 : tensor<?xf16>
  %leaky_relu = fuse.leaky_relu %x, alpha = 0.3 : tensor<?xf16>
  // CHECK-NEXT: %elu = fuse.elu %x, alpha = 2.0 : tensor<?xf16>
  %elu = fuse.elu %x, alpha = 2 : tensor<?xf16>
  // CHECK-NEXT: %hard_sigmoid = fuse.hard_sigmoid %x, alpha = 0.2, beta = 0.001 : tensor<?xf16>
  %hard_sigmoid = fuse.hard_sigmoid %x, alpha = 0.2, beta = 1.0e-3 : tensor<?xf16>
  // CHECK-NEXT: %gelu = fuse.gelu %x, approximate = "tanh" : tensor<?xf16>
  %gelu = fuse.gelu %x, approximate = "tanh" : tensor<?xf16>
  // CHECK-NEXT: %relu6 = fuse.clip %x, min = 0.0, max = 6.0 : tensor<?xf16>
  %relu6 = fuse.clip %x, min = 0.0, max = 6.0 : tensor<?xf16>
  // CHECK-NEXT: %above = fuse.clip %x, min = -1.5 : tensor<?xf16>
  %above = fuse.clip %x, min = -1.5 : tensor<?xf16>
  // CHECK-NEXT: %below = fuse.clip %n, max = 200.0 : tensor<3xui8>
  %below = fuse.clip %n, max = 200.0 : tensor<3xui8>
  // CHECK-NEXT: %open = fuse.clip %x, min = "-inf", max = "inf" : tensor<?xf16>
  %open = fuse.clip %x, min = "-inf", max = "inf" : tensor<?xf16>
  return
}

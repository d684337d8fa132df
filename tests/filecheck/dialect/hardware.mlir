// RUN: FUSE_ROUNDTRIP

// A template of two units, with everything that the ops can say.
fuse.hardware @tiny source @mac operands 3 buffer_bytes 1024 channel_alignment 16 {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_unit @act kind "activation" capacity 2
  fuse.hardware_link @mac -> @act
  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_map "fuse.add" to ["mac", "activation"]
  fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
  fuse.hardware_map "stablehlo.convolution" to ["mac"]
  fuse.hardware_virtual "fuse.reshape"
}
// CHECK:      fuse.hardware @tiny source @mac operands 3 buffer_bytes 1024 channel_alignment 16 {
// CHECK-NEXT:   fuse.hardware_unit @mac kind "mac"
// CHECK-NEXT:   fuse.hardware_unit @act kind "activation" capacity 2
// CHECK-NEXT:   fuse.hardware_link @mac -> @act
// CHECK-NEXT:   fuse.hardware_map "fuse.conv2d" to ["mac"]
// CHECK-NEXT:   fuse.hardware_map "fuse.add" to ["mac", "activation"]
// CHECK-NEXT:   fuse.hardware_map "fuse.clip" to ["activation"] if "min-zero"
// CHECK-NEXT:   fuse.hardware_map "stablehlo.convolution" to ["mac"]
// CHECK-NEXT:   fuse.hardware_virtual "fuse.reshape"
// CHECK-NEXT: }

// Units that every trip must use, and units that write to memory.
fuse.hardware @ways source @mac {
  fuse.hardware_unit @mac kind "mac" bytes 8 required
  fuse.hardware_unit @act kind "activation" stores
  fuse.hardware_link @mac -> @act
  fuse.hardware_map "fuse.conv2d" to ["mac"]
}
// CHECK-NEXT: fuse.hardware @ways source @mac {
// CHECK-NEXT:   fuse.hardware_unit @mac kind "mac" bytes 8 required
// CHECK-NEXT:   fuse.hardware_unit @act kind "activation" stores
// CHECK-NEXT:   fuse.hardware_link @mac -> @act
// CHECK-NEXT:   fuse.hardware_map "fuse.conv2d" to ["mac"]
// CHECK-NEXT: }

// Memories, with what they hold, their sizes, and what a refusal says.
fuse.hardware @memories source @mac {
  fuse.hardware_unit @mac kind "mac"
  fuse.hardware_map "fuse.conv2d" to ["mac"]
  fuse.hardware_region @near holds ["inputs", "outputs"] bytes 1024 because "Images must fit"
  fuse.hardware_region @sums holds ["between"] bytes 64 streams
  fuse.hardware_region @far holds ["weights"]
}
// CHECK-NEXT: fuse.hardware @memories source @mac {
// CHECK-NEXT:   fuse.hardware_unit @mac kind "mac"
// CHECK-NEXT:   fuse.hardware_map "fuse.conv2d" to ["mac"]
// CHECK-NEXT:   fuse.hardware_region @near holds ["inputs", "outputs"] bytes 1024 because "Images must fit"
// CHECK-NEXT:   fuse.hardware_region @sums holds ["between"] bytes 64 streams
// CHECK-NEXT:   fuse.hardware_region @far holds ["weights"]
// CHECK-NEXT: }

// Limits are optional, a name that is no identifier is quoted, and other attributes are kept.
fuse.hardware @"one-unit" source @all attributes {vendor = "none"} {
  fuse.hardware_unit @all kind "all"
  fuse.hardware_map "fuse.relu" to ["all"]
}
// CHECK-NEXT: fuse.hardware @"one-unit" source @all attributes {vendor = "none"} {
// CHECK-NEXT:   fuse.hardware_unit @all kind "all"
// CHECK-NEXT:   fuse.hardware_map "fuse.relu" to ["all"]
// CHECK-NEXT: }

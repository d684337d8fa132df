// RUN: fuse-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

fuse.hardware @unreachable source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_unit @b kind "x"
  fuse.hardware_link @b -> @a
}
// CHECK: expects a way from source 'a' to unit 'b'
// -----
fuse.hardware @never_written source @a {
  fuse.hardware_unit @a kind "x" stores
  fuse.hardware_unit @b kind "x"
  fuse.hardware_link @a -> @b
  fuse.hardware_map "fuse.relu" to ["x"]
}
// CHECK: expects a way from unit 'b' to one that stores
// -----
fuse.hardware @unknown_kind source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["y"]
}
// CHECK: expects the kind of a unit for 'fuse.relu', got 'y'
// -----
fuse.hardware @no_source source @b {
  fuse.hardware_unit @a kind "x"
}
// CHECK: expects the source to be one of its units, got 'b'
// -----
fuse.hardware @no_units source @b {
}
// CHECK: Region 'body' {{.*}} expected a single block
// -----
fuse.hardware @only_links source @b {
  fuse.hardware_link @b -> @b
}
// CHECK: expects at least one unit, got none
// -----
fuse.hardware @duplicate source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_unit @a kind "y"
}
// CHECK: expects unit names to differ, got 'a' twice
// -----
fuse.hardware @capacity source @a {
  fuse.hardware_unit @a kind "x" capacity 0
}
// CHECK: expects unit 'a' of capacity 1 or more, got 0
// -----
fuse.hardware @nothing source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to []
}
// CHECK: expects 'fuse.relu' to be mapped to a kind of unit, got nothing
// -----
fuse.hardware @predicate source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["x"] if "sometimes"
}
// CHECK: expects a predicate among always, bias, {{.*}} got 'sometimes'
// -----
fuse.hardware @rows source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["x"]
  fuse.hardware_map "fuse.relu" to ["x"]
}
// CHECK: expects one row for 'fuse.relu' if 'always', got two
// -----
fuse.hardware @link source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_link @a -> @b
}
// CHECK: expects a link between units, got 'b', which is none
// -----
fuse.hardware @twice source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_link @a -> @a
  fuse.hardware_link @a -> @a
}
// CHECK: expects links to differ, got 'a' to 'a' twice
// -----
fuse.hardware @both source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["x"]
  fuse.hardware_virtual "fuse.relu"
}
// CHECK: expects 'fuse.relu' to be virtual or mapped, got both
// -----
fuse.hardware @limit source @a operands -1 {
  fuse.hardware_unit @a kind "x"
}
// CHECK: expects limit 'operands' of 0 or more, got -1
// -----
fuse.hardware @maps_nothing source @a {
  fuse.hardware_unit @a kind "x"
}
// CHECK: expects at least one operator that is mapped to a unit, got none
// -----
fuse.hardware_unit @a kind "x"
// CHECK: 'fuse.hardware_unit' expects parent op 'fuse.hardware'
// -----
fuse.hardware @no_arrow source @a {
  fuse.hardware_link @a @b
}
// CHECK: Expected '->'
// -----
fuse.hardware @foreign source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware @inner source @b {
    fuse.hardware_unit @b kind "x"
    fuse.hardware_map "fuse.relu" to ["x"]
  }
}
// CHECK: is no part of a hardware template
// -----
fuse.hardware @unknown_role source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["x"]
  fuse.hardware_region @sram holds ["inputs", "output"]
}
// CHECK: expects region 'sram' to hold some of inputs, weights, outputs, between, got 'output'
// -----
fuse.hardware @weights_nowhere source @a {
  fuse.hardware_unit @a kind "x"
  fuse.hardware_map "fuse.relu" to ["x"]
  fuse.hardware_region @sram holds ["inputs", "outputs", "between"] bytes 64
}
// CHECK: expects a region that holds weights, got none

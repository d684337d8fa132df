// RUN: not fuse-opt %s --convert-layout="layout=NHCW" 2>&1 | filecheck %s

// CHECK: error: option 'layout' of pass 'convert-layout' expects
func.func @empty() {
  func.return
}

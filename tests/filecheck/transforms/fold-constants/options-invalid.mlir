// RUN: fuse-opt %s --fold-constants="max-bytes=-1" --verify-diagnostics | filecheck %s --check-prefix=BYTES
// RUN: fuse-opt %s --fold-constants="max-total-bytes=-1" --verify-diagnostics | filecheck %s --check-prefix=TOTAL

// A budget below nothing has no meaning.
// BYTES: option 'max-bytes' expects 0 or more, got -1
// TOTAL: option 'max-total-bytes' expects 0 or more, got -1
func.func @empty() {
  func.return
}

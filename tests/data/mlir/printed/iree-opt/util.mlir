module {
  util.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    util.return %arg0 : tensor<4xf32>
  }
}

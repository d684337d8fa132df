// A program that checks itself. The last number that it expects is a wrong one.
func.func @main() {
  %x = "tosa.const"() {values = dense<[-1.0, 0.5, 2.0]> : tensor<3xf32>} : () -> tensor<3xf32>
  %t = tosa.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
  %y = tosa.add %t, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  check.expect_almost_eq_const(%y, dense<[-1.761594, 0.962117, 2.5]> : tensor<3xf32>) : tensor<3xf32>
  return
}

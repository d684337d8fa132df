"""Rows for the dialects that importers of models write: onnx-mlir's, torch-mlir's and what IREE lowers these to.

1. An op has the kind of its counterpart in the dialect `fuse`, and one without a counterpart that of its Relay op.
2. Control flow, random numbers, sequences and optional values have no rows: they stay where they are.
3. Attention, scans and sorts of `iree_linalg_ext` and `tm_tensor` are opaque: each is a kernel by itself.

Source: the operators of ONNX (https://onnx.ai/onnx/operators), torch-mlir's TorchOps, and the dialects ONNX and ZHigh
of onnx-mlir.
"""

from collections.abc import Mapping

from fuse_dialect.fusion.kinds.foreign_row import ForeignOp, rows
from fuse_dialect.pattern_kind import PatternKind

_ELEMWISE = ForeignOp(PatternKind.ELEMWISE)
_BROADCAST = ForeignOp(PatternKind.BROADCAST)
_INJECTIVE = ForeignOp(PatternKind.INJECTIVE)
_RESHAPE = ForeignOp(PatternKind.INJECTIVE, reshape_only=True)
_REDUCE = ForeignOp(PatternKind.COMM_REDUCE)
_ANCHOR = ForeignOp(PatternKind.OUT_EWISE_FUSABLE)
_PRODUCT = ForeignOp(PatternKind.OUT_EWISE_FUSABLE, is_product=True)
_OPAQUE = ForeignOp(PatternKind.OPAQUE)
_CONSTANT = ForeignOp(is_constant=True)

IMPORTED_OPS: Mapping[str, ForeignOp] = {
    **rows("onnx", _CONSTANT, "Constant NoValue"),
    **rows(
        "onnx",
        _ELEMWISE,
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu "
        "HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink "
        "Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu",
    ),
    **rows(
        "onnx",
        _BROADCAST,
        "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor DequantizeLinear Div Equal Expand Greater GreaterOrEqual "
        "Less LessOrEqual Max Mean Min Mod Mul Or PRelu Pow QuantizeLinear Sub Sum Where Xor",
    ),
    **rows(
        "onnx",
        _INJECTIVE,
        "CenterCropPad DepthToSpace Gather GatherElements GatherND Pad Resize ReverseSequence Slice SpaceToDepth Split "
        "Tile Transpose Trilu Upsample",
    ),
    **rows("onnx", ForeignOp(PatternKind.INJECTIVE, reads_tuple=True), "Concat"),
    **rows("onnx", _RESHAPE, "Flatten Reshape Squeeze Unsqueeze"),
    **rows(
        "onnx",
        _REDUCE,
        "ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
        "ReduceSum ReduceSumSquare",
    ),
    **rows(
        "onnx",
        _ANCHOR,
        "AveragePool BatchNormalization BatchNormalizationInferenceMode GlobalAveragePool GlobalLpPool GlobalMaxPool "
        "GroupNormalization InstanceNormalization LayerNormalization LogSoftmax LpNormalization LpPool MaxPool "
        "MaxPoolSingleOut RMSLayerNormalization RMSNormalization Softmax",
    ),
    **rows(
        "onnx", _PRODUCT, "Conv ConvInteger ConvTranspose Einsum Gemm MatMul MatMulInteger QLinearConv QLinearMatMul"
    ),
    **rows(
        "onnx",
        _OPAQUE,
        "Attention Compress ConstantOfShape CumSum DFT Det EyeLike GRU GridSample Hardmax LRN LSTM MaxRoiPool "
        "MaxUnpool NonMaxSuppression NonZero OneHot RNN Range RoiAlign RotaryEmbedding STFT ScatterElements ScatterND "
        "Shape Size TopK Unique",
    ),
    **rows("zhigh", _INJECTIVE, "Stick StickForGRU StickForLSTM Unstick"),
    **rows("zhigh", _ELEMWISE, "Exp Gelu InvSqrt LeakyRelu Log Relu Sigmoid Sqrt Tanh"),
    **rows("zhigh", _BROADCAST, "Add Div Max Min Mul Sub"),
    **rows("zhigh", _REDUCE, "MeanReduce2d ReduceMax ReduceMin"),
    **rows("zhigh", _ANCHOR, "AvgPool2D BatchNorm MaxPool2D Softmax"),
    **rows("zhigh", _PRODUCT, "Conv2D MatMul QuantizedMatMul"),
    **rows("zhigh", _OPAQUE, "GRU LSTM"),
    **rows("torch", _CONSTANT, "constant.bool constant.float constant.int constant.none vtensor.literal"),
    **rows(
        "torch.aten",
        _ELEMWISE,
        "abs acos acosh add.Scalar asin asinh atan atanh bitwise_not ceil clamp contiguous cos cosh detach div.Scalar "
        "elu eq.Scalar erf exp expm1 floor ge.Scalar gelu gt.Scalar hardsigmoid hardswish hardtanh le.Scalar "
        "leaky_relu log log10 log1p log2 log_sigmoid logical_not lt.Scalar mish mul.Scalar ne.Scalar neg "
        "pow.Tensor_Scalar reciprocal relu relu6 round rsqrt rsub.Scalar selu sigmoid sign silu sin sinh softplus sqrt "
        "square sub.Scalar tan tanh threshold to.dtype trunc",
    ),
    **rows(
        "torch.aten",
        _BROADCAST,
        "add.Tensor atan2 bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor broadcast_to div.Tensor eq.Tensor "
        "expand ge.Tensor gt.Tensor le.Tensor logical_and logical_or logical_xor lt.Tensor maximum minimum mul.Tensor "
        "ne.Tensor pow.Tensor_Tensor prelu remainder.Tensor sub.Tensor where.self",
    ),
    **rows(
        "torch.aten",
        _INJECTIVE,
        "constant_pad_nd embedding flip gather index_select narrow permute pixel_shuffle repeat roll select.int "
        "slice.Tensor t transpose.int tril triu upsample_bilinear2d upsample_nearest2d",
    ),
    **rows("torch.aten", _RESHAPE, "flatten.using_ints reshape squeeze squeeze.dim unflatten.int unsqueeze view"),
    **rows(
        "torch.aten",
        _REDUCE,
        "all any argmax argmin amax amin max mean mean.dim min prod sum sum.dim_IntList",
    ),
    **rows(
        "torch.aten",
        _ANCHOR,
        "_log_softmax _softmax adaptive_avg_pool2d avg_pool2d batch_norm group_norm layer_norm log_softmax.int "
        "max_pool2d native_batch_norm native_group_norm native_layer_norm softmax.int",
    ),
    **rows("torch.aten", _PRODUCT, "addmm baddbmm bmm conv1d conv2d conv3d convolution linear matmul mm mv"),
    **rows(
        "torch.aten",
        _OPAQUE,
        "cumsum index.Tensor index_put nonzero scaled_dot_product_attention scatter.src scatter_add sort topk",
    ),
    **rows(
        "iree_linalg_ext",
        _OPAQUE,
        "attention fft im2col online_attention pack reverse scan scatter sort topk unpack winograd.filter_transform "
        "winograd.input_transform winograd.output_transform",
    ),
    **rows("tm_tensor", _OPAQUE, "attention scan scatter sort topk"),
}
"""Foreign ops by name."""

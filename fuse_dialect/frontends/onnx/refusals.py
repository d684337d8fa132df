"""ONNX's operators that are not read, and why: every operator is in the table, has a definition, or stands here."""

_STRINGS = "strings are no tensors of numbers"
_SEQUENCES = "it is a loop over a sequence; a sequence of known length is read where no loop changes it"
_OPTIONAL = "the dialect has no values that may be missing"
_RANDOM = "random numbers are not the same on two machines; only what a model computes at inference is read"
_TRAINING = "training is no subject of this project"
_DICTIONARIES = "dictionaries are no tensors"
_VOTES = "votes between pairs of classes have no expansion here yet"
_RARE = "no model that we know of uses it today"

_REASONS: tuple[tuple[str, str, str], ...] = (
    (_STRINGS, "", "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"),
    (_OPTIONAL, "", "Optional"),
    (_RANDOM, "", "Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike"),
    ("decoding of image files", "", "ImageDecoder"),
    (_RARE, "", "MaxRoiPool"),
    (_TRAINING, "ai.onnx.preview.training", "Adagrad Adam Gradient Momentum"),
    (_DICTIONARIES, "ai.onnx.ml", "CastMap DictVectorizer"),
    (_STRINGS, "ai.onnx.ml", "CategoryMapper"),
    (_VOTES, "ai.onnx.ml", "SVMClassifier"),
)

REFUSED_OPERATORS: dict[tuple[str, str], str] = {
    (domain, name): reason for reason, domain, names in _REASONS for name in names.split()
}
"""Reason by domain and name."""
EXPANDED_INTO_REFUSED = {"Bernoulli": _RANDOM, "SequenceMap": _SEQUENCES}
"""Operators whose definition uses operators that are not read."""
REFUSED_FORMS = {
    "Cast": "rounding up or down to `f8E8M0FNU`: only to the nearest",
    "Dropout": "training with a share that is not 0: " + _RANDOM,
    "Identity, If, Loop": "values that are sequences or optional, as states, inputs and results",
    "Loop, Scan and others": "shapes and bounds that are computed when the model runs, where an operator needs them "
    "before",
    "Scan": "opset 8, with a batch axis",
    "LabelEncoder, OneHotEncoder, classifiers": "keys, categories and labels that are strings; labels where they "
    "are used",
    "TreeEnsemble": "comparisons with a set of members",
    "any": "opsets before 7; elements that are strings, complex, or floats of 6 bits",
}
"""What is not read of operators that are."""

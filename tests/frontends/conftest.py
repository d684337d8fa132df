"""The tests of the ONNX reader need the extra `onnx`; without it they are not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("onnx") and find_spec("onnx_ir") else ["test_onnx_*.py"]

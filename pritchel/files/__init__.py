"""Fitted models as files: the model folder, exports to ONNX, plain numpy and ArviZ."""

"""EfficientNet-Lite0 quantised to 8 bits: QDQ form, weights per channel, activations per tensor.

    efficientnet_lite0_int8.py OUT.onnx FP32.onnx IMAGENET20     the folder of imagenet20.py

The calibration runs the model, so the last bits of the scales can differ between processors.
"""
import os
import pathlib
import sys
import tempfile

# Read when the runtime is imported: without it the runtime keeps a store of events in the home folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
from PIL import Image
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

SHORT_SIDE, CROP = 256, 224


def prepare(path):
    """What the model info declares: [1, 3, 224, 224] of (x - 127) / 128."""
    image = Image.open(path).convert("RGB")
    scale = SHORT_SIDE / min(image.size)
    image = image.resize([round(side * scale) for side in image.size], Image.Resampling.BICUBIC)
    left, top = ((side - CROP) // 2 for side in image.size)
    image = image.crop((left, top, left + CROP, top + CROP))
    return ((np.asarray(image, np.float32) - 127) / 128).transpose(2, 0, 1)[None]


class Photographs(CalibrationDataReader):
    def __init__(self, folder):
        self._paths = iter(sorted(pathlib.Path(folder, "calibration").iterdir()))

    def get_next(self):
        path = next(self._paths, None)
        return None if path is None else {"input": prepare(path)}


def main(out, model, imagenet20):
    with tempfile.TemporaryDirectory(dir=pathlib.Path(out).parent) as scratch:
        prepared = pathlib.Path(scratch) / "prepared.onnx"
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, out, Photographs(imagenet20), quant_format=QuantFormat.QDQ,
                        per_channel=True, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main(*sys.argv[1:])

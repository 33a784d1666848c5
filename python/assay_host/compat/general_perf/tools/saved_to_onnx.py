"""TensorFlow's SavedModel to ONNX, with the tf2onnx of the backend's environment."""

import subprocess
import sys
from typing import Any


def savedmodel_to_onnx(model_path: Any, output_path: Any = "", **options: Any) -> None:
    """`options`: `inputs` and `outputs` as lists of names, `opset`."""
    command = [sys.executable, "-m", "tf2onnx.convert", "--saved-model", str(model_path),
               "--output", str(output_path), "--opset", str(options.get("opset", 12))]
    for end in ("inputs", "outputs"):
        if options.get(end):
            command += ["--" + end, ",".join(options[end])]
    subprocess.run(command, check=True)

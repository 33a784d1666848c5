"""TorchScript to ONNX, with the torch of the backend's environment."""

import json
import os
from typing import Any, Dict

from assay_host.samples import fake_feeds


def _model_info(output_path: str) -> Dict[str, Any]:
    """Of the model that the output file is named after; of the only one there is otherwise."""
    folder = os.path.join("general_perf", "model_zoo")
    name = os.path.splitext(os.path.basename(output_path))[0] + ".json"
    files = [file for file in sorted(os.listdir(folder)) if file.endswith(".json")]
    if name not in files and len(files) != 1:
        raise FileNotFoundError("no {} in {}; it holds {}".format(name, folder, ", ".join(files)))
    with open(os.path.join(folder, name if name in files else files[0]), encoding="utf-8") as file:
        return json.load(file)


def torch_to_onnx(model_path: Any, output_path: Any) -> None:
    """Traces the model with generated inputs; the first dimension of every input and output is free."""
    import torch

    info = _model_info(str(output_path))
    feeds = fake_feeds(1, info["input_shape"], info["input_type"])
    inputs = [name for name in info["inputs"].split(",") if name]
    outputs = [name for name in info["outputs"].split(",") if name]
    model = torch.jit.load(str(model_path), map_location=torch.device("cpu")).eval()
    torch.onnx.export(
        model, tuple(torch.from_numpy(feeds[name]) for name in inputs), str(output_path),
        opset_version=12, input_names=inputs, output_names=outputs,
        dynamic_axes={name: {0: "batch"} for name in inputs + outputs})

import json

from backends import compile_backend
from tools import saved_to_onnx, torch_to_onnx


class CompileBackendOLDEST(compile_backend.CompileBackend):
    converters = (torch_to_onnx.torch_to_onnx, saved_to_onnx.savedmodel_to_onnx)

    def get_interact_profile(self, config):
        with open("backends/CPU/CPU.json") as file:
            return json.load(file)

    def compile(self, configs, dataloader=None):
        with open("model_zoo/" + configs["workload"]["model"] + ".json") as file:
            info = json.load(file)
        return {"model": info["model"], "framework": info["framework"], "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "segments": []}

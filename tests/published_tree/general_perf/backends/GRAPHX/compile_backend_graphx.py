"""Compiled files beside the model, one per batch size, named in lists."""
import json
import os

from byte_mlperf.backends import compile_backend
from graphsdk import Compiler


class CompileBackendGRAPHX(compile_backend.CompileBackend):
    def __init__(self):
        super().__init__()
        self.hardware_type = "GRAPHX"

    def get_interact_profile(self, config):
        path = "byte_mlperf/backends/" + self.hardware_type + "/" + self.hardware_type + ".json"
        if os.path.exists(path):
            with open(path) as file:
                return json.load(file)
        return []

    def get_best_batch_size(self):
        return None

    def compile(self, configs, dataloader=None):
        model = configs["model_info"]["model_path"]
        folder = os.path.dirname(model) if os.path.isfile(model) else model
        sizes, objects = [], []
        for size in configs["workload"]["batch_sizes"]:
            path = os.path.join(folder, str(size), os.path.basename(model).split(".")[0] + ".mxr.npz")
            Compiler.compile_and_export(path, size)
            sizes.append(size)
            objects.append(path)
        return {"model": configs["model_info"]["model"], "framework": configs["model_info"]["framework"],
                "compile_precision": configs.get("interact_info", {}).get("model_precision", "FP32"),
                "input_type": configs["model_info"]["input_type"].split(","),
                "max_batch_size": configs["model_info"]["max_batch_size"], "compile_status": "success",
                "sg_percent": 100,
                "segments": [{"sg_idx": 0, "is_fallback": False,
                              "input_tensor_map": configs["model_info"]["input_shape"],
                              "output_tensor_map": configs["model_info"]["outputs"],
                              "compiled_model": [{"compiled_bs": sizes, "compiled_obj": objects}]}]}

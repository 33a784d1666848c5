"""ONNX Runtime's Python package as a backend: the class that compiles."""
import json
import logging
import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # it would write into the home folder

import onnxruntime
from general_perf.backends import compile_backend

log = logging.getLogger("CompileBackendORTPY")


class CompileBackendORTPY(compile_backend.CompileBackend):
    def __init__(self):
        super().__init__()
        self.hardware_type = "ORTPY"

    def version(self):
        return "onnxruntime " + onnxruntime.__version__

    def get_interact_profile(self, config):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ORTPY.json")
        with open(path) as file:
            return json.load(file)

    def pre_optimize(self, configs):
        if configs["model_info"]["model_format"] != "onnx":
            raise ValueError("this backend reads ONNX, the model is " + configs["model_info"]["model_format"])
        return configs

    def compile(self, configs, dataloader=None):
        info, answers = configs["model_info"], configs["interact_info"]
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled_models")
        os.makedirs(folder, exist_ok=True)
        optimized = os.path.join(folder, info["model"] + ".onnx")
        options = onnxruntime.SessionOptions()
        if answers.get("optimize", True):
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        else:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.optimized_model_filepath = optimized
        onnxruntime.InferenceSession(info["model_path"], options, providers=["CPUExecutionProvider"])
        log.info("wrote %s", optimized)
        return {
            "model": info["model"],
            "framework": info["framework"],
            "compile_precision": info["model_precision"],
            "optimizations": {"graph": "extended" if answers.get("optimize", True) else "none"},
            "instance_count": 1,
            "device_count": 1,
            "input_type": info["input_type"].split(","),
            "max_batch_size": info.get("max_batch_size", 64),
            "compile_status": "success",
            "sg_percent": 100,
            "segments": [
                {
                    "sg_idx": 0,
                    "is_fallback": False,
                    "input_tensor_map": info["input_shape"],
                    "output_tensor_map": info["outputs"],
                    "compiled_model": [{"compiled_bs": 1, "compiled_obj": optimized}],
                }
            ],
            "threads": answers.get("threads", 1),
        }

    def get_best_batch_size(self):
        return None  # the workload's

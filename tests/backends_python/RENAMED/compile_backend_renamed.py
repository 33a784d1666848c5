import json
import os

import numpy as np
from byte_mlperf.backends import compile_backend

WIDTH = np.dtype(np.long).itemsize  # gone from some NumPy releases, as is np.bool
MASK = np.zeros(1, np.bool)


class CompileBackendRENAMED(compile_backend.CompileBackend):
    def __init__(self):
        super(CompileBackendRENAMED, self).__init__()
        self.hardware_type = "RENAMED"

    def get_interact_profile(self, config):
        path = os.path.join("byte_mlperf/backends/CPU/CPU.json")
        with open(path) as file:
            return json.load(file)

    def compile(self, configs, dataloader=None):
        return {"model": configs["model_info"]["model"], "framework": "Onnx", "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "segments": []}

"""Its own packages below general_perf.backends, paths hard-coded per model, affinity set at the start."""
import os

from general_perf.backends import compile_backend
from general_perf.backends.TWODIES.common.paths import PREPARED
from general_perf.model_zoo import *  # noqa: F401,F403


class CompileBackendTWODIES(compile_backend.CompileBackend):
    def __init__(self):
        super(CompileBackendTWODIES, self).__init__()
        self.hardware_type = "TWODIES"
        os.sched_setaffinity(0, os.sched_getaffinity(0))

    def get_interact_profile(self, config):
        return None

    def get_best_batch_size(self):
        return None

    def compile(self, configs, dataloader=None):
        with open(PREPARED[configs["workload"]["model"]]) as file:
            scale = int(file.read())
        os.environ["TWODIES_STREAMS"] = "2"
        return {"model": configs["workload"]["model"], "framework": "Onnx", "compile_precision": "FP16",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "scale": scale,
                "segments": []}

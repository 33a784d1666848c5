"""Settings in a dict; options from a file that the user has put into the tree; no input_name in the result."""
import json
import os

from base_build import BaseBuild
from general_perf.backends import compile_backend


class CompileBackendSPARSE(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        with open(os.path.join("general_perf", "backends", "SPARSE", "sparse.json")) as file:
            return json.load(file)

    def get_best_batch_size(self):
        return [1]

    def compile(self, configs, dataloader=None):
        with open("./general_perf/download/sparse/options.yaml") as file:
            options = dict(line.strip().split(": ") for line in file)
        built = BaseBuild().build(options)
        return {"model": configs["workload"]["model"], "framework": "Onnx", "compile_precision": "INT8/BF16",
                "input_type": ["FLOAT32"], "max_batch_size": 4, "compile_status": "success", "sg_percent": 100,
                "sparsity_ratio": built["sparsity_ratio"], "level": built["options"]["level"],
                "segments": [{"sg_idx": 0, "is_fallback": False,
                              "compiled_model": [{"compiled_bs": 4, "compiled_obj": built}]}]}

import json
import os
import sys

from general_perf.backends import compile_backend
from general_perf.model_zoo import *  # noqa: F401,F403

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import common_beside  # noqa: E402


class CompileBackendBESIDE(compile_backend.CompileBackend):
    def get_interact_profile(self, config) -> compile_backend.List[compile_backend.Dict]:
        return ()

    def compile(self, configs, dataloader: compile_backend.Any = None):
        with open("general_perf/model_zoo/{}.json".format(configs["workload"]["model"])) as file:
            info = json.load(file)
        with open(os.path.join(common_beside.HERE, "../BESIDE/data/level.json")) as file:
            level = json.load(file)["level"]
        return {"model": info["model"], "framework": info["framework"], "compile_precision": "FP32",
                "input_type": info["input_type"].split(","), "compile_status": "success",
                "sg_percent": 100, "optimizations": {"level": level}, "segments": []}

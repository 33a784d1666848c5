"""As the vendor guide's worked example: a profile from the JSON file, a result of one segment."""
import json
import logging
import os
from typing import Any, Dict, List

from general_perf.backends import compile_backend

log = logging.getLogger("CompileBackendGUIDE")


class CompileBackendGUIDE(compile_backend.CompileBackend):
    def __init__(self):
        super(CompileBackendGUIDE, self).__init__()
        self.hardware_type = "GUIDE"
        self.need_reload = False
        self.model_runtimes = []

    def version(self) -> str:
        return "guide compiler 1.0"

    def get_interact_profile(self, config: Dict[str, Any]) -> List[Dict[str, Any]]:
        path = "general_perf/backends/" + self.hardware_type + "/" + self.hardware_type + ".json"
        if not os.path.exists(path):
            log.info("no profile, using default")
            return []
        with open(path) as file:
            return json.load(file)

    def pre_optimize(self, configs: Dict[str, Any]) -> Dict[str, Any]:
        return configs

    def compile(self, configs: Dict[str, Any], dataloader=None) -> Dict[str, Any]:
        info = configs["model_info"]
        self.workload = configs["workload"]
        precision = configs.get("interact_info", {}).get("precision", "FP32")
        return {
            "model": info["model"],
            "framework": info["framework"],
            "compile_precision": precision,
            "input_type": info["input_type"].split(","),
            "max_batch_size": info.get("max_batch_size", 64),
            "compile_status": "success",
            "sg_percent": 100,
            "optimizations": {},
            "instance_count": 1,
            "device_count": 1,
            "segments": [{
                "sg_idx": 0,
                "is_fallback": False,
                "input_tensor_map": info["input_shape"],
                "output_tensor_map": info["outputs"],
                "compiled_model": [{"compiled_bs": 1, "compiled_obj": info["model_path"]}],
            }],
            "interact_info": configs.get("interact_info"),
        }

    def get_best_batch_size(self):
        return None

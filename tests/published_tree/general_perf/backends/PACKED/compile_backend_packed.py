"""One executable per batch size, taken as it is where one lies there already."""
import copy
import json
import logging
from pathlib import Path

from general_perf.backends import compile_backend
from graphsdk import Compiler
from tools import saved_to_onnx, torch_to_onnx  # noqa: F401

log = logging.getLogger("CompileBackendPACKED")


class CompileBackendPACKED(compile_backend.CompileBackend):
    def __init__(self):
        super(CompileBackendPACKED, self).__init__()
        self.hardware_type = "PACKED"
        self.model_config = None
        self.current_dir = Path(__file__).parent

    def version(self):
        return "packed-1.4"

    def get_interact_profile(self, config):
        model = config["model_info"]["model"]
        with open(self.current_dir / "interact_infos" / (model + ".json")) as file:
            self.model_config = json.load(file)
        if "precision" in self.model_config:
            return []
        with open(self.current_dir / "PACKED.json") as file:
            return json.load(file)

    def pre_optimize(self, configs):
        for key, value in configs["interact_info"].items():
            self.model_config[key] = value
        info = configs["model_info"]
        info["converted"] = {name: copy.copy(shape) for name, shape in info["input_shape"].items()}
        return configs

    def get_best_batch_size(self):
        return self.model_config.get("batch_sizes", None)

    def _path(self, name, size):
        return "compiled_models/{}/{}/executable_FP16.npz".format(name, size)

    def compile(self, configs, dataloader=None):
        assert configs["model_info"]["converted"], "the configs of pre_optimize are lost"
        name = configs["model_info"]["model"]
        compiled = []
        for size in self.model_config["batch_sizes"]:
            path = Path(self._path(name, size))
            if path.exists():
                log.info("%s is there, nothing to compile", path)
            else:
                Compiler.compile_and_export(str(path), size)
            compiled.append({"compiled_bs": size, "compiled_obj": str(path)})
        return {
            "model": name, "framework": configs["model_info"]["framework"], "compile_precision": "FP16",
            "input_type": configs["model_info"]["input_type"].split(","), "max_batch_size": 64,
            "compile_status": "success", "optimizations": {}, "instance_count": 1, "device_count": 1,
            "sg_percent": 100, "interact_info": self.model_config,
            "segments": [{"sg_idx": 0, "is_fallback": False,
                          "input_tensor_map": configs["model_info"]["input_shape"],
                          "output_tensor_map": configs["model_info"]["outputs"], "compiled_model": compiled}]}

import os

from general_perf.backends import compile_backend


class CompileBackendSETTINGS(compile_backend.CompileBackend):
    def __init__(self):
        super().__init__()
        self.hardware_type = "SETTINGS"
        self.settings = {}

    def get_interact_profile(self, config):
        self.settings = {"threads": 2, "fuse": True, "level": "O2", "scale": 0.5,
                         "batches": [4, 8], "options": {"alpha": 1}}
        return self.settings

    def get_best_batch_size(self):
        return self.settings["batches"]

    def compile(self, configs, dataloader=None):
        answers = configs["interact_info"]
        os.environ["SETTINGS_SEEN"] = "{threads} {fuse} {level} {options}".format(**answers)
        return {"model": configs["workload"]["model"], "framework": "Onnx", "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100,
                "max_batch_size": max(configs["workload"]["batch_sizes"]), "interact_info": answers,
                "segments": [{"sg_idx": 0, "is_fallback": False,
                              "compiled_model": [{"compiled_bs": [4, 8], "compiled_obj": ["4.bin", "8.bin"]}]}]}

import sys

from general_perf.backends import compile_backend


class CompileBackendFAULTY(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        return [{"name": "fault", "note": "What goes wrong", "dialog_type": "Input Dialog", "type": "str",
                 "default": "none", "depends": None}]

    def compile(self, configs, dataloader=None):
        fault = configs["interact_info"].get("fault", "none")
        if fault == "compile_exits":
            sys.exit("no licence")
        if fault == "compile_none":
            return None
        if fault == "compile_memory":
            raise MemoryError("4 GiB")
        if fault == "compile_import":
            import surely_not_installed  # noqa: F401
        return {"model": configs["model_info"]["model"], "framework": "Onnx", "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "segments": [],
                "fault": fault}

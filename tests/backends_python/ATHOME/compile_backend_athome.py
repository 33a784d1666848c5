import atexit
import logging
import os

from general_perf.backends import compile_backend

logging.getLogger().setLevel(logging.CRITICAL)
HERE = os.path.dirname(os.path.abspath(__file__))


def _goodbye():
    print("ATHOME says goodbye", flush=True)


atexit.register(_goodbye)


class CompileBackendATHOME(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        return []

    def compile(self, configs, dataloader=None):
        os.environ["ATHOME_SCALE"] = "28"
        if os.path.exists(os.path.join(HERE, "kernels.cache")):
            raise AssertionError("an earlier compilation is found")
        with open(os.path.join(HERE, "kernels.cache"), "w") as file:
            file.write("compiled")
        with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "real.cache"), "w") as file:
            file.write("compiled")
        return {"model": configs["model_info"]["model"], "framework": "Onnx", "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "segments": []}

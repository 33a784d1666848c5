import absent_framework as af
import absent_framework.nn.functional as F
from absent_framework import Tensor, nn
from absent_framework.python.compiler import convert as conversion
from general_perf.backends import compile_backend

af.get_logger().setLevel("ERROR")
TYPES = {"FLOAT32": af.float32, "BFLOAT16": af.bfloat16.as_numpy_dtype}
DEFAULTS = conversion.DEFAULT_PARAMS._replace(precision="FP16")
DEVICE = af.device("cuda" if af.cuda.is_available() else "cpu")


class Net(nn.Module):
    def forward(self, x):
        return F.relu(x)


@af.no_grad()
def run(net, x):
    return net(x)


@af.jit.script
def double(x):
    return x * 2


HAS_DEVICE = bool(af.device.is_available())


class CompileBackendSTUBBED(compile_backend.CompileBackend):
    def get_interact_profile(self, config):
        return []

    def compile(self, configs, dataloader=None):
        if isinstance(configs, Tensor) or double(2) != 4 or HAS_DEVICE:
            raise AssertionError("a stub is taken for the real thing")
        if configs["interact_info"].get("use_framework"):
            run(Net(), 1)
        return {"model": configs["model_info"]["model"], "framework": "Onnx", "compile_precision": "FP32",
                "input_type": ["FLOAT32"], "compile_status": "success", "sg_percent": 100, "segments": []}

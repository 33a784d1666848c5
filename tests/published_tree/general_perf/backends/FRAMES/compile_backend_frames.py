"""Calls the vendor's tool in another folder and comes back."""
import json
import os
import subprocess
import sys

from general_perf.backends import compile_backend


class CompileBackendFRAMES(compile_backend.CompileBackend):
    def get_interact_profile(self, config) -> compile_backend.List[compile_backend.Dict]:
        with open("general_perf/backends/FRAMES/FRAMES.json") as file:
            return json.load(file)

    def get_best_batch_size(self) -> compile_backend.Optional[compile_backend.List[int]]:
        return None

    def compile(self, configs: compile_backend.Dict, dataloader: compile_backend.Any = None):
        home = os.getcwd()
        work = os.path.join("general_perf", "backends", "FRAMES", "compiled")
        os.makedirs(work, exist_ok=True)
        os.chdir(work)
        try:
            model = os.path.relpath(os.path.join(home, configs["model_info"]["model_path"]))
            tool = "import sys, graphsdk; open(sys.argv[1], 'rb').close(); graphsdk.Compiler.compile_and_export('m.npz', 1)"
            subprocess.run([sys.executable, "-c", tool, model], check=True)
            path = os.path.abspath("m.npz")
        finally:
            os.chdir(home)
        return {"model": configs["workload"]["model"], "framework": "Onnx",
                "compile_precision": configs["interact_info"]["model_precision"], "input_type": ["FLOAT32"],
                "compile_status": "success", "sg_percent": 100, "device_count": 2, "segments": [], "file": path}

"""Names that published code finds where they used to be, and modules that stand in for others."""
import unittest

import support


class Names(support.Case):
    def test_numpy_has_the_names_it_lost(self):
        answer = self.answer_of("""
            import numpy as np
            host.open()
            answer["names"] = [np.dtype(getattr(np, name)).kind for name in ("long", "bool", "int", "float", "object")]
            """)
        self.assertEqual(answer["names"], ["i", "b", "i", "f", "O"])

    def test_old_and_new_names_are_one_module(self):
        answer = self.answer_of("""
            host.open()
            import backends.compile_backend, byte_mlperf.backends.compile_backend, general_perf.backends.compile_backend
            import byte_mlperf, general_perf, importlib, tools.torch_to_onnx, general_perf.tools.torch_to_onnx
            import general_perf.core.configs.workload_store as store
            from general_perf.core.configs.dataset_store import load_dataset
            from general_perf.core.configs.backend_store import init_compile_backend
            answer["one"] = (backends.compile_backend is general_perf.backends.compile_backend
                             is byte_mlperf.backends.compile_backend and byte_mlperf is general_perf
                             and tools.torch_to_onnx is general_perf.tools.torch_to_onnx)
            answer["spec"] = general_perf.backends.compile_backend.__spec__.name
            answer["file"] = os.path.relpath(general_perf.__file__)
            answer["class"] = type(init_compile_backend("GUIDE")).__name__
            bridge.interact_profile(host.text)
            answer["workload"] = store.load_workload("fashion")["iterations"]
            answer["loader"] = load_dataset(host.configs["model_info"]).get_batch_count()
            try:
                import byte_mlperf.nothing
            except ModuleNotFoundError as failure:
                answer["missing"] = failure.name
            """)
        self.assertTrue(answer["one"])
        self.assertEqual(answer["spec"], "general_perf.backends.compile_backend")
        self.assertEqual(answer["file"], "general_perf/__init__.py")
        self.assertEqual((answer["class"], answer["workload"], answer["loader"]), ("CompileBackendGUIDE", 5, 100))
        self.assertEqual(answer["missing"], "byte_mlperf.nothing")

    def test_an_installed_package_wins_over_a_common_old_name(self):
        (self.temp / "site" / "datasets").mkdir(parents=True)
        (self.temp / "site" / "datasets" / "__init__.py").write_text("IS_INSTALLED = True\n")
        answer = self.answer_of("""
            sys.path.append({!r})
            host.open()
            import datasets
            answer["installed"] = datasets.IS_INSTALLED
            """.format(str(self.temp / "site")))
        self.assertTrue(answer["installed"])

    def test_a_process_that_the_backend_starts_has_the_names_too(self):
        answer = self.answer_of("""
            import subprocess
            host.open()
            program = "import general_perf, byte_mlperf.backends.GUIDE.compile_backend_guide as m; print(m.__name__)"
            answer["out"] = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
            """)
        self.assertEqual(answer["out"], "general_perf.backends.GUIDE.compile_backend_guide\n")

    def test_the_tree_that_a_folder_is_part_of_is_found_too(self):
        package = self.temp / "checkout" / "general_perf"
        folder = package / "backends" / "PART"
        folder.mkdir(parents=True)
        (package / "extra.py").write_text("VALUE = 5\n")
        (folder / "compile_backend_part.py").write_text(
            "from general_perf.extra import VALUE\nclass CompileBackendPART:\n    hardware_type = VALUE\n")
        (folder / "runtime_backend_part.py").write_text("class RuntimeBackendPART:\n    pass\n")
        answer = self.answer_of("""
            host.open()
            answer["traits"] = bridge.traits()
            answer["notes"] = bridge.notes()
            """, backend="PART", folder=folder)
        self.assertEqual(answer["traits"], ["PART", False, False])
        self.assertIn('the backend calls itself "5", its folder is PART', answer["notes"])


class Order(support.Case):
    def test_the_published_engines_order(self):
        folder = self.temp / "ORDER"
        folder.mkdir()
        (folder / "compile_backend_order.py").write_text("""
import builtins
builtins.calls = ["import compile"]
class CompileBackendORDER:
    def __init__(self): calls.append("CompileBackend()")
    def get_interact_profile(self, config): calls.append("profile " + ",".join(config)); return []
    def pre_optimize(self, configs): calls.append("pre_optimize " + ",".join(configs)); self.c = configs; return configs
    def segment(self, configs): calls.append("segment"); assert configs is self.c
    def get_best_batch_size(self): calls.append("best"); return [2]
    def compile(self, configs, dataloader=None):
        calls.append("compile {}".format(configs["workload"]["batch_sizes"])); assert configs is self.c
        self.w = configs["workload"]
        return {"compile_precision": "FP32", "compile_status": "success", "sg_percent": 100}
""")
        (folder / "runtime_backend_order.py").write_text("""
import numpy as np
calls.append("import runtime")
class RuntimeBackendORDER:
    def __init__(self): calls.append("RuntimeBackend()")
    def load(self, n):
        calls.append("load {}".format(n))
        assert self.configs["sg_percent"] == 100 and self.workload["batch_sizes"] == [2] and self.model_info["model"]
    def get_loaded_batch_size(self): calls.append("loaded"); return 2
    def predict(self, data): calls.append("predict"); return np.zeros((2, 10), np.float32)
    def benchmark(self, loader): calls.append("benchmark {}".format(loader.cur_bs)); return {}
""")
        answer = self.answer_of("""
            host.all(2)
            host.predict(driver.images(2))
            bridge.benchmark(driver.Loader())
            answer["calls"] = calls
            """, backend="ORDER", folder=folder)
        once = [call for i, call in enumerate(answer["calls"]) if call not in answer["calls"][:i]]
        self.assertEqual(once, [
            "import compile", "import runtime", "CompileBackend()", "RuntimeBackend()", "profile workload,model_info",
            "pre_optimize workload,model_info,interact_info", "segment", "best", "compile [2]", "load 2", "loaded",
            "predict", "benchmark 2"])
        repeated = {call for call in once if answer["calls"].count(call) > 1}
        self.assertEqual(repeated, {"loaded", "predict"})


if __name__ == "__main__":
    unittest.main()

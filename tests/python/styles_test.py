"""Each style of published code, unedited, through the whole way."""
import copy
import os
import unittest

import support

EVALUATE = """
import numpy as np
host.prepare()
answer["profile"] = json.loads(host.profile) if host.profile else None
answer["best"] = host.best
host.configs["interact_info"] = {interact}
answer["result"] = host.compile()
host.load({batch})
answer["signature"] = bridge.signature()
answer["loaded"] = bridge.loaded_batch_size()
batch = driver.images(answer["loaded"])
got, = host.predict(batch)
want = driver.logits(batch)
answer["error"] = float(abs(got - want).max()) if got.dtype != np.uint16 else -1
answer["notes"] = bridge.notes()
"""
SMALL = 1e-5


class Styles(support.Case):
    def evaluate(self, backend, batch=4, interact="{}", more="", **options):
        script = EVALUATE.format(interact=interact, batch=batch) + more
        answer = self.answer_of(script, backend=backend, **options)
        if answer["error"] != -1:
            self.assertLess(answer["error"], SMALL)
        return answer

    def test_a_profile_that_is_a_dict_of_settings(self):
        answer = self.evaluate("SETTINGS", interact='{"threads": 3, "fuse": True, "level": "O2"}',
                               more='answer["seen"] = os.environ["SETTINGS_SEEN"]\n'
                                    'answer["version"] = bridge.version()')
        self.assertEqual(
            [(q["name"], q["dialog_type"], q["type"], q["default"]) for q in answer["profile"]],
            [("threads", "Input Dialog", "int", 2), ("fuse", "Yes/No Dialog", "bool", True),
             ("level", "Input Dialog", "str", "O2"), ("scale", "Input Dialog", "float", 0.5)])
        self.assertEqual(answer["best"], [4, 8])
        self.assertEqual(answer["seen"], "3 True O2 {'alpha': 1}")  # what nobody can be asked comes as it is
        self.assertEqual(answer["result"]["max_batch_size"], 8)
        self.assertEqual(answer["version"], "3.5")
        self.assertEqual(answer["result"]["segments"][0]["compiled_model"],
                         [{"compiled_bs": 4, "compiled_obj": "4.bin"}, {"compiled_bs": 8, "compiled_obj": "8.bin"}])
        self.assertTrue(any("options" in note for note in answer["notes"]))

    def test_a_fixed_batch_compiled_in_another_folder(self):
        (self.temp / "zoo.v1").mkdir()
        model = self.temp / "zoo.v1" / "fashion.onnx"
        model.write_bytes(b"weights")
        configs = copy.deepcopy(support.CONFIGS)
        configs["model_info"]["model_path"] = str(model)
        answer = self.evaluate("FIXED", configs=configs)
        self.assertEqual((answer["profile"], answer["loaded"]), (None, 6))
        self.assertEqual(answer["signature"], [[["input", 2, [6, 1, 28, 28]]], [["logits", 2, [6, 10]]]])
        self.assertEqual(answer["result"]["interact_info"]["model_info"]["model_path"], str(model))
        self.assertTrue(any("batches of 4 were asked for" in note for note in answer["notes"]), answer["notes"])

    def test_bare_classes_and_a_dict_with_names_of_its_own(self):
        answer = self.evaluate("POSITIONS", more='answer["version"] = bridge.version()')
        self.assertIsNone(answer["profile"])
        self.assertEqual(answer["loaded"], 4)
        self.assertEqual(answer["signature"][1], [["logits", 2, [4, 10]]])
        self.assertEqual(answer["version"], "")
        self.assertTrue(any('"Identity:0"' in note and '"logits"' in note for note in answer["notes"]))

    def test_a_tuple_of_tensors_on_a_device(self):
        answer = self.evaluate("TUPLES", more="""
from general_perf.backends.TUPLES.device_tensor import Tensor
answer["pending"] = Tensor.pending
""")
        self.assertIsNone(answer["profile"])
        self.assertEqual(answer["pending"], 0)  # the device has been waited for

    def test_bfloat16_comes_as_its_bits(self):
        answer = self.evaluate("BF16", more="""
bits = want.view(np.uint32) >> 16
answer["same"] = bool((got == bits.astype(np.uint16)).all())
""")
        self.assertEqual(answer["signature"][1], [["logits", 4, [4, 10]]])
        self.assertTrue(answer["same"])

    def test_the_older_package_name_is_the_same_modules(self):
        self.assertIsNone(self.evaluate("RENAMED")["profile"])

    def test_top_level_names_and_files_of_the_older_root(self):
        answer = self.evaluate("OLDEST", more='answer["claims"] = json.loads(bridge.benchmark(driver.Loader()))')
        self.assertEqual(answer["claims"], [{"batch_size": 4, "qps": 4, "raw": {
            "BS": 4, "QPS": 4, "AVG Latency": 1000.0, "P99 Latency": 1000.0},
            "latency_ms": {"mean": 1000.0, "p99": 1000.0}, "notes": []}])

    def test_modules_beside_it_and_files_of_the_model_zoo(self):
        answer = self.evaluate("BESIDE")
        self.assertEqual(answer["result"]["optimizations"], {"level": 3})
        # Lists of Python's floats are an array of double; one list of them is one output.
        self.assertIn('predict returns lists of numbers: read as "logits" [4, 10]', answer["notes"])
        self.assertEqual(answer["signature"][1], [["logits", 2, [4, 10]]])  # Python's floats, of a model in FP32

    def test_nothing_is_written_into_the_vendors_folder(self):
        before = sorted(os.listdir(support.BACKENDS / "ATHOME"))
        answer = self.evaluate("ATHOME", more='answer["kept"] = os.path.exists('
                               '"general_perf/backends/ATHOME/kernels.cache")\n'
                               'answer["kept_really"] = os.path.exists("general_perf/backends/ATHOME/real.cache")')
        self.assertTrue(answer["kept"])
        self.assertTrue(answer["kept_really"])
        self.assertEqual(sorted(os.listdir(support.BACKENDS / "ATHOME")), before)

    def test_model_info_is_one_object_and_pre_optimize_runs_once(self):
        answer = self.evaluate("MUTATES", more='answer["passes"] = host.configs["model_info"]["passes"]')
        self.assertEqual(answer["passes"], 1)
        self.assertEqual(answer["result"]["input_type"], "FLOAT32")
        self.assertEqual(answer["result"]["segments"][0]["compiled_model"],
                         [{"compiled_bs": 1, "compiled_obj": "a/b"}])
        self.assertNotIn("live", answer["result"])

    def test_a_compile_result_that_lives_in_its_process_and_a_fixed_batch_size(self):
        answer = self.evaluate("LIVE")
        self.assertEqual(answer["best"], [8])
        self.assertEqual(answer["loaded"], 8)
        self.assertIs(answer["result"]["live"], True)
        self.assertEqual(answer["result"]["device"], "<lock>")
        self.assertEqual(answer["signature"][0], [["input", 2, [8, 1, 28, 28]]])
        self.assertFalse((self.artifact / "compile_info.pickle").exists())
        for said in ("[8]", "batches of 4 were asked for", "lives in its process only"):
            self.assertTrue(any(said in note for note in answer["notes"]), said)

    def test_a_framework_that_is_imported_only_can_be_stubbed(self):
        answer = self.evaluate("STUBBED", stubs="absent_framework,other_framework")
        self.assertEqual([note for note in answer["notes"] if "stubbed" in note], [
            '"other_framework" is stubbed by request (--stub other_framework), and nothing has imported it'])

    def test_a_stub_that_is_used_says_where(self):
        answer = self.answer_of("""
            host.prepare()
            host.configs["interact_info"] = {"use_framework": True}
            answer["failure"] = host.failure(host.compile)
            """, backend="STUBBED", stubs="absent_framework")
        code, message = answer["failure"]
        self.assertEqual(code, 9)
        self.assertIn("--stub absent_framework", message)
        self.assertIn("absent_framework.nn.Module", message)
        self.assertIn(support.place("STUBBED", "compile_backend_stubbed.py", "run(Net(), 1)"), message)

    def test_a_missing_framework_is_named_with_what_to_do(self):
        answer = self.answer_of('answer["failure"] = host.failure(host.open)', backend="STUBBED")
        code, message = answer["failure"]
        self.assertEqual(code, 9)
        for said in ('"absent_framework"', "requirements.txt", "--python", "--stub absent_framework",
                     "compile_backend_stubbed.py:1"):
            self.assertIn(said, message)


if __name__ == "__main__":
    unittest.main()

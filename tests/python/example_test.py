"""The example of docs/guide/backend-python.md does what the guide says, and the guide quotes it."""
import copy
import importlib.util
import re
import unittest

import support

EXAMPLE = support.ROOT / "examples" / "backend_python" / "ORTPY"
GUIDE = support.ROOT / "docs" / "guide" / "backend-python.md"
MODEL = support.ROOT / "model_zoo" / "fashion_mnist_cnn.onnx"


class Guide(unittest.TestCase):
    def test_its_code_is_quoted_from_the_example(self):
        blocks = re.findall(r"^```(python|json)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
        sources = {"python": "".join(file.read_text() for file in sorted(EXAMPLE.glob("*.py"))),
                   "json": (EXAMPLE / "ORTPY.json").read_text()}
        self.assertGreater(len(blocks), 2)
        for language, block in blocks:
            self.assertIn(block, sources[language])


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "the package onnxruntime is missing")
class Example(support.Case):
    def test_it_runs_the_fashion_mnist_model(self):
        configs = copy.deepcopy(support.CONFIGS)
        configs["model_info"]["model_path"] = str(MODEL)
        answer = self.answer_of("""
            import numpy as np
            host.prepare()
            answer["asked"] = [question["name"] for question in json.loads(host.profile)]
            host.configs["interact_info"] = {"threads": 1, "optimize": True}
            answer["result"] = host.compile()
            host.load(4)
            batch = driver.images(4)
            got, = host.predict(batch)
            import onnxruntime
            session = onnxruntime.InferenceSession(host.configs["model_info"]["model_path"])
            answer["error"] = float(abs(got - session.run(None, {"input": batch})[0]).max())
            answer["claims"] = json.loads(bridge.benchmark(driver.Loader()))
            answer["version"] = bridge.version()
            answer["notes"] = bridge.notes()
            """, backend="ORTPY", folder=EXAMPLE, configs=configs)
        self.assertEqual(answer["asked"], ["threads", "optimize"])
        self.assertLess(answer["error"], 1e-4)
        self.assertEqual(answer["claims"][0]["notes"], [])
        self.assertTrue(answer["version"].startswith("onnxruntime "))
        self.assertEqual(answer["notes"], [])


if __name__ == "__main__":
    unittest.main()

"""The whole way of a backend through the bridge."""
import copy
import unittest

import support


class WholeWay(support.Case):
    def test_the_guides_example_answers_as_its_model_does(self):
        answer = self.answer_of("""
            import numpy as np
            host.prepare()
            answer["profile"] = json.loads(host.profile)
            answer["traits"] = bridge.traits()
            answer["result"] = host.compile()
            host.load(4)
            answer["version"] = bridge.version()
            answer["signature"] = bridge.signature()
            answer["loaded"] = bridge.loaded_batch_size()
            batch = driver.images(4)
            got, = host.predict(batch)
            answer["error"] = float(abs(got - driver.logits(batch)).max())
            answer["claims"] = json.loads(bridge.benchmark(driver.Loader()))
            answer["notes"] = bridge.notes()
            """)
        self.assertEqual([question["name"] for question in answer["profile"]], ["precision"])
        self.assertEqual(answer["traits"], ["GUIDE", False, False])
        self.assertEqual(answer["result"]["input_type"], ["FLOAT32"])
        self.assertNotIn("live", answer["result"])
        self.assertEqual(answer["version"], "guide runtime 1.0")
        self.assertEqual(answer["signature"],
                         [[["input", 2, [4, 1, 28, 28]]], [["logits", 2, [4, 10]]]])
        self.assertEqual(answer["loaded"], 4)
        self.assertEqual(answer["error"], 0)
        self.assertEqual(answer["claims"][0]["batch_size"], 4)
        self.assertEqual(answer["notes"], [])

    def test_vendor_code_may_do_to_the_model_what_it_likes(self):
        (self.temp / "zoo").mkdir()
        model = self.temp / "zoo" / "fashion.onnx"
        model.write_bytes(b"weights")
        (self.temp / "zoo" / "fashion.onnx.data").write_bytes(b"more weights")
        configs = copy.deepcopy(support.CONFIGS)
        configs["model_info"]["model_path"] = str(model)
        answer = self.answer_of("""
            answer["changed"] = host.prepare()
            answer["object"] = host.compile()["segments"][0]["compiled_model"][0]["compiled_obj"]
            path = bridge._session.configs.model_info["model_path"]
            answer["data"] = open(path + ".data").read()
            open(path, "w").write("optimised")
            open(path + ".cache", "w").write("left for the next run")
            """, configs=configs)
        self.assertEqual(answer, {"changed": None, "object": str(model), "data": "more weights"})
        self.assertEqual(model.read_bytes(), b"weights")
        self.assertEqual(len(list(model.parent.iterdir())), 2)


if __name__ == "__main__":
    unittest.main()

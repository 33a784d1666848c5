"""The converters that published code calls, with doubles of the frameworks that they use."""
import unittest

import support

TORCH = '''
import sys
float32 = "float32"
class _Model:
    def eval(self): return self
class jit:
    @staticmethod
    def load(path, map_location=None): return _Model()
def device(name): return name
def from_numpy(array): return array
class onnx:
    @staticmethod
    def export(model, inputs, path, **options):
        with open(path, "w") as file:
            file.write("{} {} {} {}".format(len(inputs), inputs[0].shape, options["input_names"], options["output_names"]))
'''
TF2ONNX = '''
import sys
open(sys.argv[sys.argv.index("--output") + 1], "w").write(" ".join(sys.argv[1:]))
'''


class Converters(support.Case):
    def setUp(self):
        super().setUp()
        self.site = self.temp / "site"
        (self.site / "tf2onnx").mkdir(parents=True)
        (self.site / "torch.py").write_text(TORCH)
        (self.site / "tf2onnx" / "__init__.py").write_text("")
        (self.site / "tf2onnx" / "convert.py").write_text(TF2ONNX)

    def converted(self, call):
        return self.answer_of("""
            sys.path.append({site!r})
            host.open()
            os.environ["PYTHONPATH"] += os.pathsep + {site!r}
            bridge.interact_profile(host.text)
            from general_perf.tools import saved_to_onnx, torch_to_onnx
            import pathlib
            {call}
            answer["text"] = open("fashion.onnx").read()
            """.format(site=str(self.site), call=call))["text"]

    def test_torchscript_takes_its_shapes_from_the_model_zoo(self):
        text = self.converted('torch_to_onnx.torch_to_onnx("model.pt", pathlib.Path("fashion.onnx"))')
        self.assertEqual(text, "1 (1, 1, 28, 28) ['input'] ['logits']")

    def test_saved_model_goes_through_tf2onnx(self):
        text = self.converted('saved_to_onnx.savedmodel_to_onnx("saved", pathlib.Path("fashion.onnx"), outputs=["a", "b"])')
        self.assertEqual(text, "--saved-model saved --output fashion.onnx --opset 12 --outputs a,b")


if __name__ == "__main__":
    unittest.main()

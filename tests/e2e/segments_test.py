"""A backend that compiles a model in several segments: what it says of them has to fit together."""
import json
import shutil
import unittest

from python_backend_test import PYTHON, TASK, VENDORS, has_numpy
from support import Case

COMPILE = """
import json, os
class CompileBackendPIECES(CompileBackendGUIDE):
    def compile(self, configs, dataloader=None):
        result = super().compile(configs, dataloader)
        with open(os.environ["PIECES"]) as file:
            result.update(json.load(file))
        return result
"""


def segment(index, inputs, outputs, fallback=False):
    return {"sg_idx": index, "is_fallback": fallback, "input_tensor_map": inputs,
            "output_tensor_map": outputs, "compiled_model": [{"compiled_bs": 1, "compiled_obj": f"part{index}"}]}


@unittest.skipUnless(has_numpy(PYTHON), "there is no Python with NumPy; tools/setup --test brings one")
class SeveralSegments(Case):
    def setUp(self):
        super().setUp()
        info = json.loads((VENDORS.parents[1] / "model_zoo" / f"{TASK[1]}.json").read_text())
        self.input, self.output = info["inputs"].strip(","), info["outputs"].strip(",")
        self.shape = info["input_shape"][self.input]
        folder = self.temp / "vendor" / "PIECES"
        shutil.copytree(VENDORS / "GUIDE", folder)
        for kind in ("compile", "runtime"):
            text = (folder / f"{kind}_backend_guide.py").read_text()
            if kind == "compile":
                text += COMPILE
            else:
                text = text.replace("GUIDE", "PIECES")
            (folder / f"{kind}_backend_pieces.py").write_text(text)
            (folder / f"{kind}_backend_guide.py").unlink()
        (folder / "GUIDE.json").rename(folder / "PIECES.json")

    def compile(self, segments, share):
        self.runs = getattr(self, "runs", 0) + 1
        told = self.temp / "pieces.json"
        told.write_text(json.dumps({"sg_percent": share, "segments": segments}))
        run = self.run_assay(*TASK, "--hardware_type", "PIECES", "--backend_path", self.temp / "vendor",
                             "--python", PYTHON, "--compile_only", folder=self.temp / f"run{self.runs}",
                             PIECES=str(told))
        self.assert_complete(run)
        return run

    def test_a_graph_is_taken_and_its_coverage_is_the_backends_word(self):
        x, y, shape = self.input, self.output, self.shape
        run = self.compile([segment(0, {x: shape}, {"a": [1, 8]}),
                            segment(1, {"a": [1, 8]}, {"b": [1, 4]}, fallback=True),
                            segment(2, {"b": [1, 4], "a": [1, 8]}, y)], 60)
        self.assertEqual((run.code, run.phase("compile")["outcome"]), (0, "ok"), run.out + run.err)
        note, = [note for note in run.result["compile"]["notes"] if "3 segments" in note]
        self.assertIn("1 of them a fallback", note)
        self.assertIn("3, of which 1 fall", (run.folder / "report.html").read_text())

    def test_what_does_not_fit_together_fails_with_both_sides(self):
        x, y, shape = self.input, self.output, self.shape
        cases = [
            ([segment(0, {x: shape}, {"a": [1, 8]}), segment(1, {"a": [1, 9]}, y)], 60,
             ['"a": segment 0 gives [1,8], segment 1 takes [1,9]']),
            ([segment(0, {x: shape}, "a"), segment(1, "aa", y)], 60,
             ['segment 1 takes "aa"', 'did you mean "a"']),
            ([segment(0, {x: shape}, "a"), segment(1, "a", "b")], 60,
             [f'no segment gives the model\'s output "{y}"']),
            ([segment(0, [x, "b"], "a"), segment(1, "a", ["b", y])], 60, ["segments 0, 1 wait for each other"]),
            ([segment(0, x, "a"), segment(1, "a", y, fallback=True)], 100,
             ["found 100, but segment 1 is a fallback segment"]),
        ]
        for segments, share, words in cases:
            with self.subTest(words=words):
                run = self.compile(segments, share)
                self.assertEqual((run.code, run.phase("compile")["outcome"]), (3, "failed"), run.out + run.err)
                for word in ["PIECES", *words]:
                    self.assertIn(word, run.phase("compile")["reason"])

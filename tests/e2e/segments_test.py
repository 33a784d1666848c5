"""Backends that compile a model in several segments: what they say of them has to fit together, and
those of a backend in C++ are run one behind the other."""
import json
import shutil
import unittest

from python_backend_test import PYTHON, TASK, VENDORS, has_numpy
from support import SHORT, Case

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


class SegmentsOfADevice(Case):
    """The double SEGMENTS cuts a model; one of its segments falls back to the CPU."""

    def evaluate(self, *arguments, fault="none", **options):
        self.runs = getattr(self, "runs", 0) + 1
        chosen = [word for name, value in {"fault": fault, **options}.items() for word in ("--set", f"{name}={value}")]
        run = self.run_assay(*TASK, "--hardware_type", "SEGMENTS", *SHORT, *chosen, *arguments,
                             folder=self.temp / f"run{self.runs}")
        self.assert_complete(run)
        return run

    def test_a_model_in_segments_is_as_right_as_the_whole(self):
        run = self.evaluate("--stability", "repeat=3,handle=2,process=2,position=2", "--batch_sizes", "1,7")
        self.assertEqual(run.code, 0, run.out + run.err)
        self.assertTrue(all(output["identical"] for output in run.result["numeric"]))
        self.assertEqual(run.result["accuracy"]["value"], run.result["accuracy"]["reference_value"])
        self.assertEqual([row["valid"] for row in run.result["performance"]], [True, True])
        coverage = run.result["compile"]["coverage"]
        self.assertEqual([(part["sg_idx"], part["ran_on"]) for part in coverage["segments"]],
                         [(0, "SEGMENTS"), (1, "CPU"), (2, "SEGMENTS")])
        calls = {part["calls"] for part in coverage["segments"]}
        self.assertEqual(len(calls), 1, coverage)
        self.assertGreater(calls.pop(), 0)
        # The model has 13 operators, of which the cut puts 4, 4 and 5 into the segments.
        self.assertEqual((coverage["operators"], coverage["fallback_operators"]), (13, 4))
        self.assertAlmostEqual(coverage["operators_percent"], 100 * 9 / 13)
        self.assertAlmostEqual(coverage["declared_percent"], 100 * 9 / 13)
        self.assertAlmostEqual(sum(part["time_share"] for part in coverage["segments"]), 1)
        self.assertEqual(run.result["Graph Compile"]["Subgraph Coverage"], coverage["operators_percent"])
        self.assertEqual(run.result["warnings"], [])
        self.assertIn("3, 1 of them on the CPU; 69.2 % of the operators", run.out)
        self.assertIn("CPU, fallback", (run.folder / "report.html").read_text())

    def test_none_falls_back(self):
        run = self.evaluate("--stability", "repeat=2", "--batch_sizes", "4", fallback=-1, pieces=4)
        self.assertEqual(run.code, 0, run.out + run.err)
        coverage = run.result["compile"]["coverage"]
        self.assertEqual([part["ran_on"] for part in coverage["segments"]], ["SEGMENTS"] * 4)
        self.assertEqual(coverage["device_time_share"], 1)

    def test_all_of_it_falls_back(self):
        run = self.evaluate("--stability", "repeat=2", "--batch_sizes", "4", fallback=0, pieces=1)
        self.assertEqual(run.code, 0, run.out + run.err)
        coverage = run.result["compile"]["coverage"]
        self.assertEqual([part["ran_on"] for part in coverage["segments"]], ["CPU"])
        self.assertEqual((coverage["operators_percent"], coverage["device_time_share"]), (0, 0))

    def test_a_boast_is_contradicted(self):
        run = self.evaluate("--stability", "repeat=2", "--batch_sizes", "4", fault="claims_all")
        said, = run.result["warnings"]
        self.assertIn("says that 99 % of the graph is on the device; 4 of its 13 operators fall back", said)

    def test_a_resumed_run_keeps_its_coverage(self):
        run = self.evaluate("--stability", "repeat=2", "--batch_sizes", "4")
        again = self.run_assay(*TASK, "--hardware_type", "SEGMENTS", *SHORT, "--set", "fault=none", "--stability",
                               "repeat=2", "--batch_sizes", "4", "--resume", folder=run.folder)
        self.assertEqual(again.code, 0, again.out + again.err)
        self.assertEqual(again.result["compile"]["coverage"], run.result["compile"]["coverage"])

    def test_faults_name_their_segment(self):
        cases = {
            "fails": ("accuracy", "failed", "segment 2: libassay_backend_segments.so: infer: the last segment is broken"),
            "crashes": ("accuracy", "crashed", "SIGABRT"),
            "wrong_name": ("compile", "failed", 'segment 2 takes "nobody_gives_this"'),
            "wrong_shape": ("accuracy", "failed", "what goes into segment 2 does not fit"),
            "other_batch": ("accuracy", "failed", "segment 2 batches of"),
            "no_object": ("accuracy", "failed", "segment 1: a fallback without compiled_model"),
            "lost_object": ("accuracy", "failed", "gone.onnx"),
        }
        for fault, (phase, outcome, words) in cases.items():
            with self.subTest(fault):
                run = self.evaluate("--stability", "repeat=2", "--batch_sizes", "4", fault=fault)
                self.assertEqual((run.code, run.phase(phase)["outcome"]), (3, outcome), run.out + run.err)
                self.assertIn(words, run.phase(phase)["reason"])

"""The model of the IPU: the tasks in fp16 and fp32, its rounding, its labels."""
import hashlib
import json

from support import Case

FASHION = "fashion-mnist-cnn-onnx-fp32"
QUICK = ["--hardware_type", "GRAPHCORE", "--quick", "--iterations", "5"]


class GraphcoreCase(Case):
    def run_task(self, task, *answers, folder=None, batch_sizes="1,8", more=()):
        sets = [word for answer in answers for word in ("--set", answer)]
        run = self.run_assay("--task", task, *QUICK, "--batch_sizes", batch_sizes, *sets, *more,
                             folder=folder)
        self.assert_complete(run)
        return run

    def outcome(self, run, name):
        return {c["name"]: c["outcome"] for c in run.result["criteria"]}[name]

    def assert_right(self, run, *names):
        for name in names:
            self.assertEqual(self.outcome(run, name), "pass", run.result["criteria"])


class GraphcoreTasks(GraphcoreCase):
    """Accuracy and numbers within the bound of the precision, for every precision and partial."""

    WAYS = (("precision=fp32",), ("precision=fp16", "partials_type=float"),
            ("precision=fp16", "partials_type=half"))

    def assert_every_way(self, task):
        for index, answers in enumerate(self.WAYS):
            with self.subTest(answers):
                run = self.run_task(task, *answers, folder=self.temp / f"run {index}",
                                    more=("--stability", "repeat=3"))
                self.assert_right(run, "numeric", "accuracy", "stability")
                declared = run.result["compile"]["declared"]
                self.assertIs(declared["simulated"], True)
                self.assertIs(declared["modelled"]["simulated"], True)
                for row in declared["modelled"]["rows"]:
                    self.assertIs(row["simulated"], True)
                    self.assertLess(row["tile_bytes_used"], row["tile_bytes"])

    def test_fashion_mnist(self):
        self.assert_every_way(FASHION)

    def test_wide_deep(self):
        self.assert_every_way("wide-deep-adult-onnx-fp32")

    def test_eight_bit_arithmetic_is_refused(self):
        run = self.run_task("fashion-mnist-cnn-onnx-int8")
        failures = [p for p in run.result["phases"] if p["outcome"] == "failed"]
        self.assertIn("8 bits", json.dumps(failures))


class GraphcoreRounding(GraphcoreCase):
    def test_the_matrix_finds_stochastic_rounding_and_names_it(self):
        run = self.run_task(FASHION, "precision=fp16", "stochastic_rounding=true")
        axes = {axis["axis"]: axis for axis in run.result["stability"]}
        for axis in ("repeat", "handle", "process", "compilation"):
            self.assertEqual(axes[axis]["verdict"], "unstable", axis)
        self.assertIn("random numbers without a fixed seed", axes["repeat"]["suspected_cause"])
        self.assertEqual(self.outcome(run, "stability"), "fail")

    def test_a_fixed_seed_makes_it_equal_again(self):
        run = self.run_task(FASHION, "precision=fp16", "stochastic_rounding=true", "seed=7")
        axes = {axis["axis"]: axis for axis in run.result["stability"]}
        for axis in ("repeat", "handle", "process", "compilation", "concurrency"):
            self.assertEqual(axes[axis]["verdict"], "bit_stable", axis)

    def test_ten_compilations_leave_the_same_bytes(self):
        seen = set()
        for index in range(10):
            folder = self.temp / f"compiled {index}"
            self.run_task(FASHION, "precision=fp16", folder=folder, more=("--compile_only",))
            digest = hashlib.sha256()
            for file in sorted((folder / "artifact").iterdir()):
                digest.update(file.name.encode() + file.read_bytes())
            seen.add(digest.hexdigest())
        self.assertEqual(len(seen), 1)


class GraphcoreCalls(GraphcoreCase):
    def test_several_batches_a_call_give_the_same_answers(self):
        run = self.run_task(FASHION, "precision=fp16", "batches_per_step=3")
        self.assert_right(run, "numeric", "accuracy", "stability")
        self.assertEqual({row["batch_size"] for row in run.result["performance"]}, {3, 24})


class FetchedGraphcore(GraphcoreCase):
    """Tasks whose models are fetched."""

    def test_minilm(self):
        for index, precision in enumerate(("fp16", "fp32")):
            with self.subTest(precision):
                run = self.run_task("minilm-sentiment-onnx-w8", f"precision={precision}",
                                    folder=self.temp / f"run {index}",
                                    more=("--stability", "repeat=1", "--data_percent", "10"))
                self.assert_right(run, "numeric")
                self.assertNotEqual(self.outcome(run, "accuracy"), "fail")
                found = run.result["compile"]["declared"]["modelled"]["overflows"]
                self.assertGreater(found["samples"], 0)
                if precision == "fp32":
                    self.assertEqual(found["values"], 0)
                else:  # the mask of attention is the lowest number of fp32
                    self.assertEqual(found["starts_at"]["op"], "Add")

    def test_efficientnet(self):
        run = self.run_task("efficientnet-lite0-onnx-fp32", "precision=fp16", batch_sizes="1",
                            more=("--stability", "repeat=1"))
        self.assert_right(run, "numeric")
        self.assertNotEqual(self.outcome(run, "accuracy"), "fail")

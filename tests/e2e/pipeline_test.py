"""Deployments that feed a model, or read its answers, in a way that it does not want are named; those
that only differ a little are not."""
import json
import pathlib
import shutil

from support import ASSAY, ROOT, TEST_BACKENDS, Case

FASHION = "fashion-mnist-cnn-onnx"
PHOTOGRAPHS = "efficientnet-lite0-onnx"
SENTIMENT = "minilm-sentiment-onnx-w8"

# Fault of the wrapper -> what it has to be taken for.
PHOTOGRAPH_FAULTS = {"bgr": "bgr", "range_255": "range_255", "range_1": "range_1",
                     "imagenet_norm": "imagenet_norm", "layout": "layout", "activation": "softmax",
                     "label_shift": "label_shift"}
GREY_FAULTS = {fault: kind for fault, kind in PHOTOGRAPH_FAULTS.items()
               if fault not in ("bgr", "range_1", "layout")}
TEXT_FAULTS = {"activation": "softmax", "label_shift": "label_shift",
               "mask_ignored": "mask_ignored", "ids_shifted": "ids_shifted_up"}

WRONG_WORDS = {"bgr": "get BGR where the model wants RGB", "range_255": "pixels of 0..255",
               "range_1": "pixels scaled to 0..1", "imagenet_norm": "ImageNet's mean",
               "layout": "laid out as NHWC where the model wants NCHW",
               "softmax": "probabilities (softmax) where the model gives logits",
               "label_shift": "labels shifted by one",
               "mask_ignored": "ignore the mask", "ids_shifted_up": "each token's id plus one"}


class PipelineCase(Case):
    """Runs that measure no speed and no stability: nothing but answers."""

    def evaluate(self, task, *arguments, percent=100, batch=8, preprocess=None):
        self.runs = getattr(self, "runs", 0) + 1
        root = self.temp / f"root{self.runs}"
        (root / "workloads").mkdir(parents=True)
        (root / "datasets").symlink_to(ROOT / "datasets")
        shutil.copytree(ROOT / "model_zoo", root / "model_zoo")
        if preprocess:
            path = root / "model_zoo" / f"{task}.json"
            model_info = json.loads(path.read_text())
            model_info["preprocess"].update(preprocess)
            path.write_text(json.dumps(model_info))
        workload = {"model": task, "test_perf": False, "test_stability": False,
                    "batch_sizes": [batch], "data_percent": percent}
        (root / "workloads" / f"{task}.json").write_text(json.dumps(workload))
        folder = self.temp / f"run{self.runs}"
        backends = f"{TEST_BACKENDS}:{pathlib.Path(ASSAY).parent.parent / 'backends'}"
        run = self.run_assay("--task", task, "--hardware_type", "WRAPPER", *arguments,
                             folder=folder, ASSAY_ROOT=str(root), ASSAY_BACKENDS=backends)
        self.assert_complete(run)
        return run

    def assert_named(self, run, kind):
        self.assertEqual(run.code, 1, run.out + run.err)
        self.assertEqual(run.result["verdict"], "fail")
        self.assertEqual(run.result["pipeline"]["looks_like"], kind)
        words = WRONG_WORDS[kind]
        first_line = [line for line in run.out.splitlines() if line.startswith("FAIL")][0]
        self.assertIn(words, first_line)
        numeric = [c for c in run.result["criteria"] if c["name"] == "numeric"][0]
        self.assertEqual(numeric["outcome"], "fail")
        self.assertIn(words, numeric["found"])
        self.assertIn(words, (run.folder / "report.html").read_text().replace("&#39;", "'"))

    def assert_not_flagged(self, run):
        pipeline = run.result["pipeline"] or {}
        self.assertIsNone(pipeline.get("looks_like"), pipeline)
        numeric = [c for c in run.result["criteria"] if c["name"] == "numeric"][0]
        self.assertEqual(numeric["outcome"], "pass", numeric)

    def assert_nameless_error(self, run):
        """A real error of the tensors that the backend was given, and no pipeline's."""
        self.assertIsNone(run.result["pipeline"]["looks_like"], run.result["pipeline"])
        numeric = [c for c in run.result["criteria"] if c["name"] == "numeric"][0]
        self.assertEqual(numeric["outcome"], "fail", numeric)
        self.assertIn("a real error", numeric["detail"])

    def fetch(self, *tasks):
        for task in tasks:
            fetched = self.assay("fetch", task)
            self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)


class GreyPictures(PipelineCase):
    """The Fashion-MNIST CNN: 1000 pictures of one channel."""

    def test_wrong_pipelines_are_named(self):
        for fault, kind in GREY_FAULTS.items():
            with self.subTest(fault):
                run = self.evaluate(f"{FASHION}-fp32", "--set", f"fault={fault}")
                self.assert_named(run, kind)
                best = [h for h in run.result["pipeline"]["hypotheses"] if h["name"] == kind][0]
                self.assertTrue(best["restores"])
                self.assertLess(best["difference_after"], 1e-5)
                self.assertGreater(best["difference_before"], 0.5)

    def test_a_quantised_model_is_named_beyond_its_own_difference(self):
        for fault, kind in (("activation", "softmax"), ("label_shift", "label_shift")):
            with self.subTest(fault):
                self.assert_named(
                    self.evaluate(f"{FASHION}-int8", "--set", f"fault={fault}"), kind)

    def test_what_a_quantised_input_cannot_hold_is_cut_off(self):
        run = self.evaluate(f"{FASHION}-int8", "--set", "fault=imagenet_norm")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.result["pipeline"]["looks_like"], "imagenet_norm_saturated")

    def test_a_quantised_model_alone_is_not_flagged(self):
        run = self.evaluate(f"{FASHION}-int8", "--set", "fault=none")
        self.assert_not_flagged(run)
        self.assertTrue(run.result["pipeline"]["deviates"], "nothing was tried: the test is empty")

    def test_equal_outputs_are_not_probed(self):
        run = self.evaluate(f"{FASHION}-fp32", "--set", "fault=none")
        self.assert_not_flagged(run)
        self.assertIsNone(run.result["pipeline"])

    def test_an_error_that_is_nobodys_pipeline_gets_no_name(self):
        for fault in ("last_slot", "late_output"):
            with self.subTest(fault):
                run = self.evaluate(f"{FASHION}-fp32", "--set", f"fault={fault}")
                self.assertIsNone(run.result["pipeline"]["looks_like"])
                self.assertTrue(run.result["pipeline"]["deviates"])
                self.assertIn("No wrong pipeline that was tried accounts for the difference",
                              (run.folder / "report.html").read_text())


def resized(name):
    """The photographs' model info with another resize filter."""
    return {"resize": {"mode": "short_side", "size": 256, "filter": name}}


# What is not wrong: (task, percent of the data, batch size, preprocess, options). Without graph
# optimisation sums have another order, so that there is a difference to judge.
UNOPTIMISED = "graph_optimization=none"
VARIANTS = [
    (f"{PHOTOGRAPHS}-fp32", 100, 8, resized("bilinear"), [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 8, resized("lanczos"), [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 8, resized("box"), [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 4, resized("nearest"), [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 8, {"resize": {"mode": "exact", "size": [224, 224], "filter": "bicubic"}},
     [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 8, {}, [UNOPTIMISED]),
    (f"{PHOTOGRAPHS}-fp32", 100, 1, {}, ["intra_op_threads=1"]),
    (f"{PHOTOGRAPHS}-int8", 100, 8, {}, []),
    (f"{PHOTOGRAPHS}-int8", 100, 1, {}, ["graph_optimization=basic"]),
    (f"{PHOTOGRAPHS}-int8", 100, 8, resized("bilinear"), []),
    (f"{PHOTOGRAPHS}-int8", 100, 4, resized("hamming"), []),
    (f"{PHOTOGRAPHS}-int8", 100, 8, {}, ["fault=other_decoder"]),
    (f"{FASHION}-fp32", 100, 1, {}, [UNOPTIMISED]),
    (f"{FASHION}-fp32", 100, 256, {}, ["intra_op_threads=1"]),
    (f"{FASHION}-fp32", 100, 8, {}, ["execution_mode=parallel"]),
    (f"{FASHION}-int8", 100, 8, {}, []),
    (f"{FASHION}-int8", 100, 64, {}, ["fault=other_decoder"]),
    (f"{FASHION}-int8", 100, 1, {}, ["graph_optimization=basic"]),
    (SENTIMENT, 6, 8, {}, ["intra_op_threads=1"]),
    (SENTIMENT, 6, 1, {}, [UNOPTIMISED]),
]

# What a backend does to its inputs, behind the boundary, or to its sums, is its own error, however small.
ALTERED = [
    (f"{PHOTOGRAPHS}-fp32", 100, "other_decoder"),
    (f"{PHOTOGRAPHS}-fp32", 100, "other_resize"),
    (f"{PHOTOGRAPHS}-fp32", 100, "half_pixel"),
    (f"{PHOTOGRAPHS}-fp32", 100, "seeded_rounding"),
    (f"{PHOTOGRAPHS}-int8", 100, "other_resize"),
    (f"{FASHION}-fp32", 100, "other_decoder"),
    (f"{FASHION}-fp32", 100, "seeded_rounding"),
    (SENTIMENT, 6, "seeded_rounding"),
]


class FetchedPipeline(PipelineCase):
    """The known-bad deployments, on models that are fetched."""

    def count_named(self, task, faults, **how):
        named = 0
        for fault, kind in faults.items():
            with self.subTest(task=task, fault=fault):
                self.assert_named(self.evaluate(task, "--set", f"fault={fault}", **how), kind)
                named += 1
        return named

    def test_known_bad_deployments(self):
        self.fetch(f"{PHOTOGRAPHS}-fp32")
        named = self.count_named(f"{PHOTOGRAPHS}-fp32", PHOTOGRAPH_FAULTS)
        print(f"known-bad deployments {named} of {len(PHOTOGRAPH_FAULTS)} named")

    def test_known_bad_deployments_of_a_quantised_model(self):
        self.fetch(f"{PHOTOGRAPHS}-int8", f"{PHOTOGRAPHS}-fp32")
        faults = {fault: PHOTOGRAPH_FAULTS[fault] for fault in ("bgr", "range_1", "layout")}
        named = self.count_named(f"{PHOTOGRAPHS}-int8", faults)
        print(f"known-bad deployments of int8 {named} of {len(faults)} named")

    def test_known_bad_deployments_of_text(self):
        self.fetch(SENTIMENT)
        named = self.count_named(SENTIMENT, TEXT_FAULTS, percent=6)
        print(f"known-bad deployments of text {named} of {len(TEXT_FAULTS)} named")

    def test_legitimate_variants(self):
        self.fetch(*sorted({task for task, *_ in VARIANTS if not task.startswith(FASHION)}))
        kept = 0
        for task, percent, batch, preprocess, options in VARIANTS:
            with self.subTest(task=task, batch=batch, preprocess=preprocess, options=options):
                chosen = [part for option in options for part in ("--set", option)]
                run = self.evaluate(task, *chosen, percent=percent, batch=batch, preprocess=preprocess)
                self.assert_not_flagged(run)
                kept += 1
        print(f"legitimate variants {kept} of {len(VARIANTS)} not flagged")

    def test_inputs_altered_by_the_backend_are_an_error_without_a_name(self):
        self.fetch(*sorted({task for task, *_ in ALTERED if not task.startswith(FASHION)}))
        for task, percent, fault in ALTERED:
            with self.subTest(task=task, fault=fault):
                self.assert_nameless_error(self.evaluate(task, "--set", f"fault={fault}", percent=percent))

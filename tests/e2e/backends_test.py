"""Every task gives the same answers on every backend that takes it."""
import hashlib
import json
import os
import shutil

from support import MODELS, ROOT, Case

REFERENCE = "CPU"
# What each of the others is named with.
OTHERS = {"OPENVINO": (),
          "ORTPY": ("--backend_path", ROOT / "examples/backend_python", "--python",
                    os.environ.get("ASSAY_ORACLE_PYTHON", ""))}


class BackendCase(Case):
    """Runs that look at answers alone: speed and stability have tests of their own."""

    def answers(self, task, hardware, overrides):
        root = self.temp / f"root {hardware}"
        (root / "workloads").mkdir(parents=True)
        for part in ("model_zoo", "datasets", "python"):
            (root / part).symlink_to(ROOT / part)
        workload = json.loads((ROOT / "workloads" / f"{task}.json").read_text())
        workload.update(test_perf=False, test_stability=False, **overrides)
        workload.pop("$schema")
        (root / "workloads" / f"{task}.json").write_text(json.dumps(workload))
        run = self.run_assay("--task", task, "--hardware_type", hardware, *OTHERS.get(hardware, ()),
                             folder=self.temp / f"run {hardware}", ASSAY_ROOT=str(root))
        self.assert_complete(run)
        self.assertEqual(run.code, 0, run.out + run.err)
        for phase in run.result["phases"]:
            self.assertIn(phase["outcome"], ("ok", "skipped"), phase)
        return run.result

    def assert_no_real_error(self, result):
        """The answers are the reference's, but for what the precision explains."""
        for output in result["numeric"]:
            self.assertEqual(output["nonfinite_mismatches"], 0)
        outcomes = {c["name"]: c["outcome"] for c in result["criteria"]}
        self.assertEqual(outcomes["numeric"], "pass", result["criteria"])

    def assert_same(self, task, of_samples=0, hardware=tuple(OTHERS), **overrides):
        """`of_samples`: how many of them may be answered in another way; `hardware`: what takes it."""
        wanted = self.answers(task, REFERENCE, overrides)
        for each in hardware:
            with self.subTest(hardware=each):
                found = self.answers(task, each, overrides)
                self.assertFalse(found["self_comparison"])
                self.assertEqual(found["provenance"]["reference"]["name"], REFERENCE)
                self.assert_no_real_error(found)
                self.compare_accuracy(found["accuracy"], wanted["accuracy"], of_samples)

    def compare_accuracy(self, found, wanted, of_samples):
        if wanted is None:
            self.assertIsNone(found)
            return
        self.assertEqual((found["metric"], found["n"]), (wanted["metric"], wanted["n"]))
        apart = abs(found["value"] - wanted["value"]) * found["n"]
        self.assertLessEqual(round(apart, 6), of_samples, (found["value"], wanted["value"]))


class BackendMatrix(BackendCase):
    def test_fashion_mnist_fp32(self):
        self.assert_same("fashion-mnist-cnn-onnx-fp32")

    def test_fashion_mnist_int8(self):
        self.assert_same("fashion-mnist-cnn-onnx-int8", of_samples=1)

    def test_wide_deep(self):
        # The area under a curve of 9769 samples: two that change places move it by far less.
        self.assert_same("wide-deep-adult-onnx-fp32", of_samples=0.01)


class OtherFormats(Case):
    """One linear model as ONNX, in TensorFlow's two forms and as TorchScript."""

    # Which of them each backend takes; the reference is the ONNX form on the CPU, by ONNX Runtime.
    TAKEN = {"OPENVINO": ("onnx", "tflite", "saved_model"), "CPU": ("tflite", "saved_model", "pt")}
    FORMS = {"onnx": ("dynamic_batch.onnx", "Onnx", None),
             "tflite": ("linear.tflite", "TFLite", "onnx"),
             "saved_model": ("linear_saved_model", "Tensorflow", "onnx"),
             "pt": ("linear.pt", "Pytorch", "onnx")}

    def write_task(self, root, form, name=None, reference=None):
        path, framework, sibling = self.FORMS[form]
        name = name or form
        reference = reference or sibling
        (root / "model_zoo" / f"{name}.json").write_text(json.dumps({
            "name": name, "model_path": path, "framework": framework, "framework_version": "1",
            "model_format": form, "model_precision": "FP32", "inputs": "x", "outputs": "y",
            "input_shape": {"x": [1, 4]}, "input_type": "FLOAT32", "dataset_name": None,
            "reference_model": None if reference == name else reference}))
        (root / "workloads" / f"{name}.json").write_text(json.dumps({
            "model": name, "test_perf": False, "test_accuracy": False, "test_stability": False,
            "batch_sizes": [1, 8], "fake_data": True}))

    def digest(self, path):
        """SHA-256 of a file; of a folder that of its files' names and digests."""
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        lines = [f"{file.relative_to(path).as_posix()} {self.digest(file)}\n"
                 for file in sorted(path.rglob("*")) if file.is_file()]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def check_form(self, root, name, hardware):
        run = self.run_assay("--task", name, "--hardware_type", hardware,
                             folder=self.temp / f"{name} {hardware}", ASSAY_ROOT=str(root))
        self.assert_complete(run)
        self.assertEqual(run.code, 0, run.out + run.err)
        output, = run.result["numeric"]
        self.assertEqual((output["output"], output["judged"]), ("y", "pass"))
        self.assertLess(output["max_abs"], 1e-6)
        self.assertFalse(run.result["self_comparison"])
        self.assertEqual(run.result["provenance"]["model"]["sha256"],
                         self.digest(root / "model_zoo" / self.FORMS[name][0]))

    def make_root(self):
        root = self.temp / "root"
        for part in ("workloads", "model_zoo", "datasets"):
            (root / part).mkdir(parents=True)
        shutil.copy(MODELS / "dynamic_batch.onnx", root / "model_zoo")
        shutil.copy(MODELS / "linear.tflite", root / "model_zoo")
        shutil.copy(MODELS / "linear.pt", root / "model_zoo")
        shutil.copytree(MODELS / "linear_saved_model", root / "model_zoo" / "linear_saved_model")
        for name in self.FORMS:
            self.write_task(root, name)
        return root

    def test_reference_of_the_same_runtime_is_said_to_be_one(self):
        root = self.make_root()
        # Without an ONNX form to compare with, the CPU backend's reference is OpenVINO's too.
        self.write_task(root, "saved_model", name="alone", reference="alone")
        run = self.run_assay("--task", "alone", "--hardware_type", "OPENVINO",
                             folder=self.temp / "alone", ASSAY_ROOT=str(root))
        self.assert_complete(run)
        self.assertTrue(run.result["self_comparison"])
        self.assertTrue(any("Self-comparison" in note for note in run.result["notes"]), run.result["notes"])

    def test_every_form_gives_the_answers_of_the_onnx_model(self):
        root = self.make_root()
        for hardware, names in self.TAKEN.items():
            for name in names:
                with self.subTest(hardware=hardware, form=name):
                    self.check_form(root, name, hardware)


class FetchedBackendMatrix(BackendCase):
    def assert_same(self, task, *arguments, **overrides):
        fetched = self.assay("fetch", task)
        self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)
        super().assert_same(task, *arguments, **overrides)

    def test_efficientnet_fp32(self):
        self.assert_same("efficientnet-lite0-onnx-fp32")

    def test_efficientnet_int8(self):
        self.assert_same("efficientnet-lite0-onnx-int8", of_samples=1)

    def test_sentiment(self):
        # The noise floor of all of them takes minutes.
        self.assert_same("minilm-sentiment-onnx-w8", data_percent=20)

    def test_resnet50(self):
        # A few of the generated pictures: ten runs of the reference tell what an error is worth.
        self.assert_same("resnet50-onnx-fp32", data_percent=2)


class FetchedRuntimes(BackendCase):
    """Models in other forms, by the runtimes of the CPU backend, against their ONNX forms."""

    def check(self, task, **overrides):
        fetched = self.assay("fetch", task)
        self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)
        result = self.answers(task, REFERENCE, overrides)
        self.assertFalse(result["self_comparison"])
        self.assertEqual(result["provenance"]["model"]["weights"], "seeded_random")
        self.assert_no_real_error(result)

    def test_resnet50_of_tensorflow(self):
        fetched = self.assay("fetch", "resnet50-tf-fp32")
        self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)
        self.assert_same("resnet50-tf-fp32", hardware=("OPENVINO",), data_percent=2)

    def test_resnet50_of_torch(self):
        self.check("resnet50-torch-fp32", data_percent=2)

    def test_bert_of_torch(self):
        self.check("bert-torch-fp32", data_percent=1)

"""End-to-end tests. Standard library only; ./test.sh -L e2e runs them."""
import gzip
import json
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

from support import ASSAY, MODELS, ROOT, SHORT, TEST_BACKENDS, Case, workers_of

FASHION = ["--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type", "CPU"]
FAULTY = ["--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type", "FAULTY"]
PHASES = ["probe", "profile", "pre_optimize", "compile", "reference", "accuracy", "numeric",
          "stability", "performance"]


def read_npy(path):
    """Rows of a two-dimensional .npy of little-endian int64 or float32."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:10 + length], {"__builtins__": {}})  # a literal of our own making
    rows, columns = header["shape"]
    code = {"<i8": "q", "<f4": "f"}[header["descr"]]
    values = struct.unpack(f"<{rows * columns}{code}", data[10 + length:])
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


class Task(Case):
    """The tasks whose data is in the repository give their right values."""

    def check(self, task, metric, value, places, **extra):
        run = self.run_assay("--task", task, "--hardware_type", "CPU", *SHORT,
                             "--data_percent", "100")
        self.assert_complete(run)
        self.assertIn(run.code, (0, 1))  # a busy machine may void a row
        accuracy = run.result["accuracy"]
        self.assertEqual(accuracy["metric"], metric)
        self.assertAlmostEqual(accuracy["value"], value, places)
        for name, wanted in extra.items():
            self.assertAlmostEqual(accuracy["extra"][name], wanted, places)
        for phase in run.result["phases"]:
            self.assertIn(phase["outcome"], ("ok", "skipped"), phase)
        self.assertEqual(run.result["numeric"][0]["nonfinite_mismatches"], 0)
        self.assertGreater(run.result["harness"]["overhead_ns_p50"], 0)
        for row in run.result["performance"]:
            self.assertEqual(row["failures"], 0)
            self.assertGreater(row["outputs_checked"]["checked"], 0)
            self.assertEqual(row["outputs_checked"]["differing"], 0)
        return run

    def test_fashion_mnist_fp32(self):
        run = self.check("fashion-mnist-cnn-onnx-fp32", "top1", 0.9251, 4)
        self.assertEqual(run.result["accuracy"]["n"], 10000)
        self.assertTrue(run.result["self_comparison"])
        self.assertEqual(run.result["numeric"][0]["judged"], "pass")

    def test_fashion_mnist_int8_is_held_against_its_fp32_model(self):
        run = self.check("fashion-mnist-cnn-onnx-int8", "top1", 0.9253, 3)
        self.assertEqual(run.result["provenance"]["reference"]["model"],
                         "fashion-mnist-cnn-onnx-fp32")
        self.assertFalse(run.result["self_comparison"])
        self.assertAlmostEqual(run.result["accuracy"]["reference_value"], 0.9251, 4)
        self.assertGreater(run.result["numeric"][0]["max_abs"], 0)

    def test_wide_deep(self):
        run = self.check("wide-deep-adult-onnx-fp32", "auc", 0.906, 3, binary_accuracy=0.851)
        self.assertEqual(run.result["accuracy"]["n"], 9769)


class FetchedTask(Case):
    """The tasks whose data is fetched give their right values."""

    def evaluate(self, task, *more):
        fetched = self.assay("fetch", task)
        self.assertEqual(fetched.returncode, 0, fetched.stderr + fetched.stdout)
        run = self.run_assay("--task", task, "--hardware_type", "CPU", *SHORT,
                             "--data_percent", "100", "--stability", "repeat=20,batch_size=2",
                             *more)
        self.assert_complete(run)
        self.assertIn(run.code, (0, 1), run.out)
        unstable = [axis for axis in run.result["stability"] if axis["verdict"] == "unstable"]
        self.assertEqual(unstable, [])
        return run.result

    def check_photographs(self, task):
        accuracy = self.evaluate(task)["accuracy"]
        self.assertEqual((accuracy["n"], round(accuracy["value"] * 20)), (20, 18))
        self.assertEqual(round(accuracy["extra"]["top5"] * 20), 19)

    def test_efficientnet_fp32(self):
        self.check_photographs("efficientnet-lite0-onnx-fp32")

    def test_efficientnet_int8(self):
        self.check_photographs("efficientnet-lite0-onnx-int8")

    def test_sentiment(self):
        accuracy = self.evaluate("minilm-sentiment-onnx-w8")["accuracy"]
        self.assertEqual(accuracy["n"], 1910)
        self.assertAlmostEqual(accuracy["value"], 0.751, 3)

    def test_resnet50_says_that_its_weights_are_random(self):
        result = self.evaluate("resnet50-onnx-fp32", "--batch_sizes", "1")
        self.assertIsNone(result["accuracy"])
        self.assertEqual(result["provenance"]["model"]["weights"], "seeded_random")
        self.assertEqual(result["numeric"][0]["nonfinite_mismatches"], 0)
        self.assertEqual(result["performance"][0]["inputs"]["source"], "generated")


class NamedTask(Case):
    """A root of its own with one task, so that its files can be anything."""

    def task_folder(self, workload, model_info=None):
        root = self.temp / "root"
        for part in ("workloads", "model_zoo", "datasets"):
            (root / part).mkdir(parents=True, exist_ok=True)
        (root / "workloads" / "t.json").write_text(workload)
        info = json.loads((ROOT / "model_zoo" / "fashion-mnist-cnn-onnx-fp32.json").read_text())
        info["name"] = "m"
        info.update(model_info or {})
        (root / "model_zoo" / "m.json").write_text(json.dumps(info))
        (root / "model_zoo" / "fashion_mnist_cnn.onnx").write_bytes(
            (ROOT / "model_zoo" / "fashion_mnist_cnn.onnx").read_bytes())
        return root

    def run_task(self, workload, *arguments, hardware="CPU", model_info=None, **environment):
        root = self.task_folder(workload, model_info)
        if not (root / "datasets" / "fashion-mnist").exists():
            (root / "datasets" / "fashion-mnist").symlink_to(ROOT / "datasets" / "fashion-mnist")
        build = pathlib.Path(ASSAY).parent.parent
        folders = f"{TEST_BACKENDS}:{build / 'backends'}"
        return self.run_assay("--task", "t", "--hardware_type", hardware, *arguments,
                              ASSAY_ROOT=str(root), ASSAY_BACKENDS=folders, **environment)


class Criteria(NamedTask):
    """What a workload asks for is judged, each by its own measured figure."""

    def test_latency_and_rate_are_judged(self):
        run = self.run_task(json.dumps({
            "model": "m", "iterations": 20, "batch_sizes": [1],
            "criteria": {"latency": {"p50_ms": 1e-6, "max_ms": 60000}, "min_qps": 1e12}}),
            "--quick", "--data_percent", "1")
        self.assert_complete(run)
        found = {c["name"]: c for c in run.result["criteria"]}
        self.assertEqual(found["performance"]["outcome"], "pass", found)
        # A disturbed host excuses a figure beyond its bound, never lets it pass.
        for name, wanted in (("latency_p50", "1e-06 ms"), ("min_qps", "1e+12 samples/s")):
            self.assertIn(found[name]["outcome"], ("fail", "inconclusive"), found[name])
            self.assertIn(wanted, found[name]["wanted"])
            self.assertIn("batch size 1: ", found[name]["found"])
        self.assertEqual(found["latency_max"]["outcome"], "pass")
        self.assertNotEqual(run.result["verdict"], "pass")


class Reports(Case):
    def test_what_cannot_be_written_is_said_and_loses_nothing_else(self):
        """result.json is in the way of itself: a folder of that name."""
        (self.folder / "result.json").mkdir(parents=True)
        run = self.assay("run", "--output", self.folder, *FASHION, "--compile_only", "--resume")
        self.assertEqual(run.returncode, 4, run.stderr + run.stdout)
        self.assertIn("result.json was not written", run.stdout)
        self.assertIn("<html", (self.folder / "report.html").read_text())

    def test_bytes_that_are_no_text_do_not_lose_the_result(self):
        run = self.run_assay(*FAULTY, *SHORT, "--data_percent", "1", "--batch_sizes", "4",
                             ASSAY_FAULT="compile:mumble")
        self.assert_complete(run)
        self.assertEqual(run.phase("compile")["outcome"], "crashed")
        self.assertIn("\ufffd", run.phase("compile")["reason"])


class ExactCounts(NamedTask):
    def test_exact_iterations_are_exact(self):
        """2 clients x 1 iteration are two calls, however many rounds a row usually has."""
        run = self.run_task(json.dumps({"model": "m", "clients": 2, "iterations": 1,
                                        "exact_iterations": True, "batch_sizes": [1],
                                        "test_accuracy": False, "test_numeric": False}))
        self.assert_complete(run)
        row, = run.result["performance"]
        self.assertEqual((len(row["rounds"]), row["samples"]), (1, 2))
        self.assertTrue(row["valid"], row["reasons"])
        self.assertTrue(any("too few calls" in note for note in row["notes"]), row["notes"])


class BadInput(NamedTask):
    """Each gives one clear message, exit code 2, and leaves nothing."""

    def test_unknown_task_names_the_nearest(self):
        run = self.run_assay("--task", "fashion-mnist-cnn-onx-fp32", "--hardware_type", "CPU")
        self.assert_refused(run, "fashion-mnist-cnn-onnx-fp32")

    def test_unknown_hardware_names_the_nearest(self):
        run = self.run_assay("--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type", "CPUU")
        self.assert_refused(run, "CPUU", "\"CPU\"")

    def test_unknown_option_value(self):
        self.assert_refused(self.run_assay(*FASHION, "--set", "intra_op_thread=2"),
                            "intra_op_thread", "intra_op_threads")

    def test_batch_sizes(self):
        for text, words in (("0", ["0"]), ("99999999", ["99999999"]), ("1,x", ["\"x\""]),
                            ("-3", ["-3"])):
            with self.subTest(text):
                self.assert_refused(self.run_assay(*FASHION, f"--batch_sizes={text}"), *words)

    def test_data_percent(self):
        for text in ("0", "101", "-5"):
            with self.subTest(text):
                self.assert_refused(self.run_assay(*FASHION, f"--data_percent={text}"), "1", "100")

    def test_bounds(self):
        for option, words in (("--clients=4097", ["--clients", "1 to 4096"]),
                              ("--iterations=1000000001", ["--iterations", "1 to 1000000000"]),
                              ("--timeout=1e300", ["--timeout", "86400"]),
                              ("--timeout=86401", ["--timeout", "86400"])):
            with self.subTest(option):
                self.assert_refused(self.run_assay(*FASHION, option), *words)

    def test_the_default_output_leaves_no_folders(self):
        run = self.assay("run", *FASHION, "--set", "graph_optimization=wat")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertFalse((self.temp / "results").exists())

    def test_names_that_no_file_can_have(self):
        for option in ("--model", "--output", "--answers"):
            with self.subTest(option):
                more = [] if option == "--model" else ["--task", "fashion-mnist-cnn-onnx-fp32"]
                run = self.assay("run", "--hardware_type", "CPU", *more, option,
                                 str(self.temp / ("x" * 300)))
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("x" * 50, run.stderr)

    def test_models(self):
        broken = self.temp / "brökén model.onnx"
        broken.write_bytes((ROOT / "model_zoo" / "fashion_mnist_cnn.onnx").read_bytes()[:5000])
        for path, words in ((self.temp / "none.onnx", ["none.onnx"]), (broken, ["brökén model"]),
                            (self.temp, ["folder"]), (MODELS / "ir99.onnx", ["99"]),
                            (MODELS / "opset999.onnx", ["999"])):
            with self.subTest(str(path)):
                self.assert_refused(
                    self.run_assay("--model", path, "--hardware_type", "CPU"), *words)

    def test_output_folder(self):
        occupied = self.temp / "occupied"
        occupied.mkdir()
        (occupied / "result.json").write_text("{}")
        run = self.run_assay(*FASHION, folder=occupied)
        self.assertEqual(run.code, 2)
        self.assertIn("--resume", run.err)
        self.assertEqual((occupied / "result.json").read_text(), "{}")
        plain = self.temp / "plain"
        plain.write_text("x")
        refused = self.run_assay(*FASHION, folder=plain / "sub")
        self.assertEqual(refused.code, 2, refused.err)

    def refuse(self, workload, *words, model_info=None):
        root = self.task_folder(workload, model_info)
        build = pathlib.Path(ASSAY).parent.parent / "backends"
        run = self.run_assay("--task", "t", "--hardware_type", "CPU", ASSAY_ROOT=str(root),
                             ASSAY_BACKENDS=str(build))
        self.assert_refused(run, *words)

    def test_broken_json_has_line_and_column(self):
        self.refuse('{\n  "model": "m",\n  "clients": \n}\n', "t.json:4:1")

    def test_wrong_type_and_unknown_key_come_together(self):
        self.refuse('{"model": "m", "clients": "three",\n "iteration": 5}', "clients",
                    "iteration", "did you mean \"iterations\"")

    def test_model_info_that_contradicts_the_model(self):
        self.refuse('{"model": "m"}', "[1,3,28,28]", "1,28,28",
                    model_info={"input_shape": {"input": [1, 3, 28, 28]}})

    def test_missing_data(self):
        self.refuse('{"model": "m"}', "fashion")

    def test_backends(self):
        build = pathlib.Path(ASSAY).parent.parent
        for name, library, words in (
                ("GONE", None, ["libgone.so"]),
                ("TEXT", b"not a library", ["libtext.so"])):
            with self.subTest(name):
                folder = self.temp / "backends" / name
                folder.mkdir(parents=True)
                manifest = json.loads((build / "backends" / "CPU" / "manifest.json").read_text())
                manifest.update(hardware_type=name, library=f"lib{name.lower()}.so")
                manifest.pop("profile", None)
                (folder / "manifest.json").write_text(json.dumps(manifest))
                if library:
                    (folder / manifest["library"]).write_bytes(library)
                run = self.run_assay("--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type",
                                     name, ASSAY_BACKENDS=str(folder.parent))
                self.assert_refused(run, *words)


    def refuse_library(self, name, library, *words):
        """A backend whose library is this file."""
        folder = self.temp / "backends" / name
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps(
            {"hardware_type": name, "library": library.name, "interface_major": 0,
             "description": "not one"}))
        shutil.copyfile(library, folder / library.name)
        run = self.run_assay("--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type", name,
                             ASSAY_BACKENDS=str(folder.parent))
        self.assert_refused(run, library.name, *words)

    def test_libraries_of_no_use(self):
        plugins = pathlib.Path(ASSAY).parent.parent / "tests" / "abi" / "plugins"
        for name, words in (("other_major", ["1"]), ("exports_nothing", ["assay_backend_v0"])):
            with self.subTest(name):
                self.refuse_library(name.upper(), plugins / f"{name}.so", *words)

    def test_data_sets_of_no_use(self):
        for what, labels, words in (("labels", [1, 2, 77], ["77"]), ("empty", [], ["empty"])):
            with self.subTest(what):
                root = self.task_folder('{"model": "m"}')
                shutil.rmtree(root / "datasets")
                folder = root / "datasets" / "fashion-mnist"
                folder.mkdir(parents=True)
                count = len(labels)
                with gzip.open(folder / "t10k-images-idx3-ubyte.gz", "wb") as file:
                    file.write(struct.pack(">IIII", 2051, count, 28, 28) + bytes(784 * count))
                with gzip.open(folder / "t10k-labels-idx1-ubyte.gz", "wb") as file:
                    file.write(struct.pack(">II", 2049, count) + bytes(labels))
                run = self.run_assay("--task", "t", "--hardware_type", "CPU", ASSAY_ROOT=str(root),
                                     ASSAY_BACKENDS=str(pathlib.Path(ASSAY).parent.parent /
                                                        "backends"))
                self.assert_refused(run, *words)
                shutil.rmtree(root)

    def test_output_folder_that_cannot_be(self):
        """Too long a name, a place that takes no files, and no room for any file."""
        for folder, words in ((self.temp / ("x" * 300), ["name"]), (pathlib.Path("/proc/x"), [])):
            with self.subTest(str(folder)[:20]):
                run = self.run_assay(*FASHION, folder=folder)
                self.assertEqual(run.code, 2, run.err)
                for word in words:
                    self.assertIn(word, run.err)
        full = self.temp / "full"
        process = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", ASSAY, "run", "--output", full, *FASHION],
            capture_output=True, text=True, env=self.environment(), cwd=self.temp, timeout=60,
            preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn("File too large", process.stderr)
        self.assertFalse(full.exists())

    def test_paths_that_are_no_text(self):
        for option in ("--model", "--output", "--answers"):
            with self.subTest(option):
                process = subprocess.run(
                    [ASSAY.encode(), b"run", b"--hardware_type", b"CPU", option.encode(),
                     bytes(self.temp) + b"/\xff"], capture_output=True, env=self.environment(),
                    cwd=self.temp, timeout=60)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn("UTF-8", process.stderr.decode())
        self.assertEqual(list(self.temp.iterdir()), [])

    def test_numbers_that_nothing_could_hold(self):
        for option, value in (("--timeout", "1e300"), ("--timeout", "nan"), ("--timeout", "-1"),
                              ("--clients", "4294967297"), ("--clients", "99999999999999999999"),
                              ("--data_percent", "nan"), ("--seed", "-1")):
            with self.subTest(f"{option} {value}"):
                self.assert_refused(self.run_assay(*FASHION, f"{option}={value}"), option)


class Faults(NamedTask):
    """Nothing that a backend does loses the report or stops the rest."""

    def evaluate(self, fault, *more, timeout=20):
        run = self.run_assay(*FAULTY, *SHORT, "--data_percent", "1", "--batch_sizes", "4",
                             "--timeout", timeout, *more, ASSAY_FAULT=fault)
        self.assert_complete(run)
        self.assertEqual([p["name"] for p in run.result["phases"]][:4], PHASES[:4])
        return run

    def test_healthy_double_is_evaluated(self):
        run = self.evaluate("")
        for phase in run.result["phases"]:
            self.assertIn(phase["outcome"], ("ok", "skipped"), phase)

    def test_every_phase_survives_a_crash(self):
        for where, phase in (("probe", "probe"), ("profile", "profile"),
                             ("pre_optimize", "pre_optimize"), ("compile", "compile"),
                             ("load", "accuracy"), ("infer", "accuracy")):
            for what, outcome, words in (("segfault", "crashed", "SIGSEGV"),
                                         ("abort", "crashed", "SIGABRT"),
                                         ("exit3", "crashed", "code 3"),
                                         ("throw", "failed", "")):
                if where == "probe" and what == "throw":
                    continue
                with self.subTest(f"{where}:{what}"):
                    self.folder = self.temp / f"{where}-{what}"
                    run = self.evaluate(f"{where}:{what}")
                    entry = run.phase(phase)
                    self.assertEqual(entry["outcome"], outcome, entry)
                    self.assertIn(words, entry["reason"])
                    self.assertEqual(run.code, 3)

    def test_hang_is_timed_out(self):
        run = self.run_assay(*FAULTY, *SHORT, "--data_percent", "1", "--batch_sizes", "4",
                             "--timeout", "2", ASSAY_FAULT="infer:hang")
        self.assert_complete(run)
        self.assertEqual(run.phase("accuracy")["outcome"], "timed_out")
        self.assertEqual(run.phase("performance")["outcome"], "timed_out")

    def test_wrong_outputs_are_failures_that_name_both_sides(self):
        for what, words in (("wrong_shape", "logits"), ("no_output", "logits"),
                            ("twice", "logits"), ("error", "")):
            with self.subTest(what):
                self.folder = self.temp / what
                run = self.evaluate(f"infer:{what}")
                self.assertEqual(run.phase("accuracy")["outcome"], "failed")
                self.assertIn(words, run.phase("accuracy")["reason"])

    def test_nan_outputs_fail_the_numeric_criterion(self):
        run = self.evaluate("infer:nan")
        numeric = [c for c in run.result["criteria"] if c["name"] == "numeric"][0]
        self.assertEqual(numeric["outcome"], "fail")
        self.assertGreater(run.result["numeric"][0]["nonfinite_mismatches"], 0)
        self.assertEqual(run.code, 1)

    def test_unwritten_outputs_show_as_not_finite(self):
        run = self.evaluate("infer:stale")
        self.assertGreater(run.result["numeric"][0]["nonfinite_mismatches"], 0)

    def test_failing_calls_make_the_row_invalid_and_are_counted(self):
        # All samples are one batch, so that the accuracy run's one call does not fail; the timed
        # window's 30 calls are all kept, the three that fail among them.
        run = self.run_task(json.dumps({"model": "m", "iterations": 30, "exact_iterations": True,
                                        "batch_sizes": [256], "test_stability": False}),
                            "--quick", "--iterations", "30", "--data_percent", "1",
                            hardware="FAULTY", ASSAY_FAULT="infer:every_10th", ASSAY_FAULT_MS="20")
        self.assert_complete(run)
        self.assertEqual(run.phase("accuracy")["outcome"], "ok", run.result["phases"])
        self.assertEqual(run.phase("performance")["outcome"], "ok", run.result["phases"])
        row, = run.result["performance"]
        self.assertFalse(row["valid"])
        self.assertEqual(row["samples"], 27)
        self.assertGreaterEqual(row["failures"], 3)
        self.assertTrue(any("3 of 30 queries failed" in reason and "call fails on demand" in reason
                            for reason in row["reasons"]), row["reasons"])
        self.assertGreater(row["outputs_checked"]["checked"], 0)
        self.assertEqual(row["outputs_checked"]["differing"], 0)
        self.assertEqual(run.code, 1)

    def test_a_round_that_is_lost_makes_the_row_invalid(self):
        """SIGKILL in the second of three rounds: the first does not stand for the row."""
        process = subprocess.Popen([ASSAY, "run", "--output", str(self.folder), *FASHION,
                                    "--iterations", "2", "--data_percent", "1", "--batch_sizes",
                                    "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment())
        os.kill(self.wait_for_worker(process, "performance-b4-r1"), signal.SIGKILL)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 3, out + err)
        row, = json.loads((self.folder / "result.json").read_text())["performance"]
        self.assertFalse(row["valid"])
        self.assertTrue(any(reason.startswith("round 2 crashed") for reason in row["reasons"]),
                        row["reasons"])

    def test_close_belongs_to_its_phase(self):
        for what, outcome, words in (("segfault", "crashed", "SIGSEGV"),
                                     ("exit3", "crashed", "code 3"),
                                     ("error", "failed", "failed on demand"),
                                     ("hang", "timed_out", "")):
            with self.subTest(what):
                self.folder = self.temp / f"close-{what}"
                run = self.evaluate(f"close:{what}", timeout=5)
                for name in ("accuracy", "performance"):
                    entry = run.phase(name)
                    self.assertEqual(entry["outcome"], outcome, entry)
                    self.assertIn("in close", entry["reason"])
                    self.assertIn(words, entry["reason"])
                # What was done before is kept.
                self.assertIsNotNone(run.result["accuracy"])
                self.assertEqual(run.code, 3)

    def test_log_that_is_no_text_does_not_lose_the_report(self):
        run = self.evaluate("load:mumble")
        self.assertEqual(run.phase("accuracy")["outcome"], "crashed")
        self.assertIn("\ufffd", run.phase("accuracy")["reason"])

    def test_talking_all_the_time_does_not_beat_the_timeout(self):
        run = self.evaluate("compile:chatter", timeout=2)
        self.assertEqual(run.phase("compile")["outcome"], "timed_out")

    def test_memory_is_limited(self):
        run = self.run_assay(*FAULTY, *SHORT, "--data_percent", "1", "--batch_sizes", "4",
                             ASSAY_FAULT="compile:eat_memory", ASSAY_MEMORY_LIMIT="500000000")
        self.assert_complete(run)
        entry = run.phase("compile")
        self.assertEqual(entry["outcome"], "out_of_memory", entry)
        self.assertIn("500 MB are allowed", entry["reason"])
        self.assertEqual(run.phase("reference")["outcome"], "skipped")


# A phase, where its worker is made to last a second, and what does not come out ok then.
KILLED = (("probe", "probe", {"probe", "pre_optimize", "compile", "reference", "accuracy",
                              "numeric", "performance"}),
          ("profile", "profile", {"profile"}),
          ("pre_optimize", "pre_optimize", {"pre_optimize"}),
          ("compile", "compile", {"compile", "reference", "accuracy", "numeric", "performance"}),
          ("reference", "", {"reference", "numeric"}),
          ("accuracy", "load", {"accuracy", "numeric"}),
          ("performance-b1-r0", "load", {"performance"}),
          ("performance-b1-r1", "load", {"performance"}))


class EveryPhase(Case):
    """What happens to a worker from outside, in each phase."""

    def start(self, name, where):
        self.folder = self.temp / name
        return self.start_assay(*FAULTY, "--iterations", "2", "--data_percent", "1",
                                "--batch_sizes", "1", ASSAY_FAULT=f"{where}:slow",
                                ASSAY_FAULT_MS="1000", ASSAY_CACHE=str(self.temp / f"cache-{name}"))

    def test_killing_the_worker_costs_its_phase(self):
        for name, where, lost in KILLED:
            with self.subTest(name):
                process = self.start(name, where)
                os.kill(self.wait_for_worker(process, name), signal.SIGKILL)
                run = self.end_of(process)
                self.assert_complete(run)
                self.assertEqual(run.code, 3)
                entry = run.phase(name.split("-")[0])
                self.assertEqual(entry["outcome"], "crashed", entry)
                self.assertIn("SIGKILL", entry["reason"])
                for phase in run.result["phases"]:
                    if phase["name"] in lost:
                        self.assertIn(phase["outcome"], ("crashed", "skipped"), phase)
                    elif phase["name"] != "stability":
                        self.assertEqual(phase["outcome"], "ok", phase)

    def test_ctrl_c_leaves_what_was_done(self):
        for name, where, _ in KILLED:
            with self.subTest(name):
                process = self.start(name, where)
                self.wait_for_worker(process, name)
                process.send_signal(signal.SIGINT)
                run = self.end_of(process)
                self.assert_complete(run)
                self.assertEqual(run.code, 130)
                self.assertTrue(run.result["interrupted"])
                done = PHASES[:PHASES.index(name.split("-")[0])]
                for phase in run.result["phases"]:
                    if phase["name"] != "stability":
                        wanted = "ok" if phase["name"] in done else "skipped"
                        self.assertEqual(phase["outcome"], wanted, phase)


class Interruption(Case):
    def start_long_run(self):
        """A run that is in its first measured row."""
        process = subprocess.Popen([ASSAY, "run", "--output", str(self.folder), *FASHION,
                                    "--batch_sizes", "1"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        log = self.folder / "logs" / "performance-b1-r0.log"
        while not log.exists() and process.poll() is None:
            time.sleep(0.01)
        return process

    def test_hang_up_is_an_interruption(self):
        process = self.start_assay(*FAULTY, *SHORT, ASSAY_FAULT="compile:hang")
        self.wait_for_worker(process, "compile")
        process.send_signal(signal.SIGHUP)
        run = self.end_of(process)
        self.assert_complete(run)
        self.assertEqual(run.code, 130)

    def test_interruption_while_the_backend_talks(self):
        process = self.start_assay(*FAULTY, *SHORT, ASSAY_FAULT="compile:chatter")
        self.wait_for_worker(process, "compile")
        process.send_signal(signal.SIGINT)
        run = self.end_of(process)
        self.assert_complete(run)
        self.assertEqual(run.code, 130)
        self.assertEqual(run.phase("compile")["outcome"], "skipped")

    def test_reader_of_the_console_may_leave(self):
        process = self.start_assay(*FASHION, "--compile_only")
        process.stdout.readline()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=120), 0)
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual(result["exit_code"], 0)
        self.assertTrue((self.folder / "report.html").exists())

    def interrupt(self, process):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out + err)

    def test_ctrl_c_leaves_what_was_done(self):
        process = self.start_long_run()
        self.interrupt(process)
        result = json.loads((self.folder / "result.json").read_text())
        self.assertTrue(result["interrupted"])
        self.assertEqual(result["verdict"], "incomplete")
        self.assertAlmostEqual(result["accuracy"]["value"], 0.9251, 4)
        self.assertEqual(workers_of(process.pid), {})

    def test_two_runs_do_not_share_a_device(self):
        first = self.start_long_run()
        second = subprocess.Popen([ASSAY, "run", "--output", str(self.temp / "second"), *FASHION,
                                   "--compile_only"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.environment())
        said = second.stdout.readline()
        self.assertIn(f"CPU is in use by process {first.pid}", said)
        self.assertIsNone(second.poll())
        self.interrupt(first)
        out, err = second.communicate(timeout=120)
        self.assertEqual(second.returncode, 0, out + err)


class Resume(Case):
    def test_finished_phases_are_not_repeated(self):
        first = self.run_assay(*FASHION, *SHORT)
        self.assert_complete(first)
        again = self.run_assay(*FASHION, *SHORT, "--resume")
        self.assert_complete(again)
        for name in ("compile", "accuracy"):
            self.assertTrue(again.phase(name)["cached"], name)
        self.assertEqual(again.result["accuracy"], first.result["accuracy"])

    def test_measured_rows_are_not_repeated(self):
        """Nothing but how the run is made differs: --resume, --timeout and --strict."""
        options = [*FASHION, *SHORT, "--batch_sizes", "1,8"]
        first = self.run_assay(*options)
        self.assert_complete(first)
        performance = [c for c in first.result["criteria"] if c["name"] == "performance"][0]
        if performance["outcome"] != "pass":
            self.skipTest(f"the machine voided a row: {performance}")
        again = self.run_assay(*options, "--resume", "--timeout", "500", "--strict")
        self.assert_complete(again)
        rows = [p for p in again.result["phases"] if p["name"] == "performance"]
        self.assertEqual([row["cached"] for row in rows], [True, True])
        self.assertEqual(again.result["performance"], first.result["performance"])
        self.assertEqual(again.result["criteria"], first.result["criteria"])
        longer = self.run_assay(*FASHION, "--quick", "--iterations", "3", "--batch_sizes", "1,8",
                                "--resume")
        self.assertFalse(longer.phase("performance")["cached"])

    def test_a_stability_matrix_is_not_repeated_but_by_another_budget(self):
        options = [*FASHION, *SHORT, "--batch_sizes", "1"]
        first = self.run_assay(*options, "--stability", "repeat=20")
        self.assert_complete(first)
        again = self.run_assay(*options, "--stability", "repeat=20", "--resume")
        self.assertTrue(again.phase("stability")["cached"])
        self.assertEqual(again.result["stability"], first.result["stability"])
        judged = [[c for c in run.result["criteria"] if c["name"] == "stability"]
                  for run in (first, again)]
        self.assertEqual(judged[0], judged[1])
        more = self.run_assay(*options, "--stability", "repeat=21", "--resume")
        self.assertFalse(more.phase("stability")["cached"])
        self.assertEqual(more.result["stability"][0]["n"], 21)

    def test_another_share_of_the_data_is_run_again(self):
        self.run_assay(*FASHION, *SHORT, "--data_percent", "5", "--batch_sizes", "8")
        again = self.run_assay(*FASHION, *SHORT, "--data_percent", "6", "--batch_sizes", "8",
                               "--resume")
        self.assertFalse(again.phase("accuracy")["cached"])
        self.assertFalse(again.phase("performance")["cached"])

    def test_a_journal_of_another_form_is_not_believed(self):
        first = self.run_assay(*FASHION, *SHORT, "--batch_sizes", "8")
        self.assert_complete(first)
        journal = self.folder / "journal.jsonl"
        lines = []
        for line in journal.read_text().splitlines():
            entry = json.loads(line)
            entry["result"] = {"rows": "none", "harness": 3, "criterion": []} \
                if entry["step"] == "performance" else {"wall_ns": "long", "axes": [1]}
            lines.append(json.dumps(entry))
        journal.write_text("\n".join(lines + ['{"step": 1, "key": [], "result": {}}']) + "\n")
        again = self.run_assay(*FASHION, *SHORT, "--batch_sizes", "8", "--resume")
        self.assert_complete(again)
        for phase in again.result["phases"]:
            self.assertIn(phase["outcome"], ("ok", "skipped"), phase)
            self.assertFalse(phase["cached"] and phase["name"] != "reference", phase)

    def test_changed_options_are_run_again(self):
        self.run_assay(*FASHION, *SHORT)
        again = self.run_assay(*FASHION, *SHORT, "--resume", "--set", "intra_op_threads=1")
        self.assertFalse(again.phase("compile")["cached"])


class OwnModel(Case):
    def test_model_without_any_json(self):
        run = self.run_assay("--model", ROOT / "model_zoo" / "wide_deep_adult.onnx",
                             "--hardware_type", "CPU", *SHORT)
        self.assert_complete(run)
        self.assertIsNone(run.result["accuracy"])
        self.assertEqual(run.result["numeric"][0]["nonfinite_mismatches"], 0)

    def test_path_with_spaces_and_letters(self):
        path = self.temp / "mein Modell ü.onnx"
        path.write_bytes((ROOT / "model_zoo" / "wide_deep_adult.onnx").read_bytes())
        run = self.run_assay("--model", path, "--hardware_type", "CPU", *SHORT)
        self.assertIn(run.code, (0, 1), run.err)

    def test_figures_of_the_backend_stand_beside_the_measured_ones(self):
        run = self.run_assay("--model", MODELS / "dynamic_batch.onnx", "--hardware_type", "DMA", *SHORT)
        claims = run.result["vendor_claim"]
        rows = {row["batch_size"]: row["qps"] for row in run.result["performance"]}
        self.assertEqual([claim["batch_size"] for claim in claims], list(rows))
        for claim in claims:
            self.assertEqual(claim["values"], {"qps": 1e6, "latency_mean_ms": 0.001})
            self.assertEqual(claim["qps_ratio"], 1e6 / rows[claim["batch_size"]])
            self.assertGreater(claim["raw"]["samples"], 0)
            self.assertIn("from the data sheet", claim["notes"])
        self.assertIn("from the data sheet", (run.folder / "report.html").read_text())

    def test_compile_only_writes_the_report(self):
        run = self.run_assay(*FASHION, "--compile_only")
        self.assert_complete(run)
        self.assertEqual(run.code, 0)
        self.assertEqual(run.result["verdict"], "inconclusive")  # nothing was decided
        self.assertEqual(run.phase("compile")["outcome"], "ok")
        self.assertEqual(run.result["performance"], [])


class DefaultOutput(Case):
    def test_runs_of_the_same_second_have_folders_of_their_own(self):
        runs = [subprocess.Popen([ASSAY, "run", *FASHION, "--compile_only"], cwd=self.temp,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=self.environment()) for _ in range(4)]
        for run in runs:
            err = run.communicate(timeout=300)[1]
            self.assertEqual(run.returncode, 0, err)
        parent = self.temp / "results" / "fashion-mnist-cnn-onnx-fp32" / "CPU"
        folders = [f for f in parent.iterdir() if not f.is_symlink()]
        self.assertEqual(len(folders), len(runs))
        for folder in folders:
            self.assertTrue((folder / "result.json").exists(), folder)
        self.assertIn((parent / "latest").resolve(), folders)

    def test_refused_run_leaves_no_folder(self):
        run = self.assay("run", "--task", "no-such-task", "--hardware_type", "CPU")
        self.assertEqual(run.returncode, 2)
        self.assertEqual(list(self.temp.iterdir()), [])


class OutputShapes(NamedTask):
    """Outputs whose shapes are not the batch's."""

    def test_an_output_whose_first_axis_is_not_the_batch_is_not_cut(self):
        run = self.run_assay("--model", MODELS / "dynamic_output.onnx", "--hardware_type", "CPU",
                             *SHORT, "--batch_sizes", "2")
        self.assert_complete(run)
        self.assertEqual(run.phase("reference")["outcome"], "failed")
        self.assertIn("--batch_sizes 1", run.phase("reference")["reason"])
        self.assertEqual(run.phase("performance")["outcome"], "ok", run.result["phases"])
        self.assertEqual(run.result["performance"][0]["failures"], 0)

    def test_with_a_batch_of_one_a_sample_is_the_whole_output(self):
        run = self.run_assay("--model", MODELS / "dynamic_output.onnx", "--hardware_type", "CPU",
                             *SHORT, "--batch_sizes", "1")
        self.assert_complete(run)
        for phase in run.result["phases"]:
            self.assertIn(phase["outcome"], ("ok", "skipped"), phase)
        self.assertEqual(run.result["numeric"][0]["shape"], [2, 4])

    def test_free_dimensions_without_an_accuracy_run_before(self):
        """[2, found] for a batch of 64 is larger than the declaration lets expect."""
        root = self.task_folder(json.dumps({"model": "d", "test_accuracy": False,
                                            "test_numeric": False, "batch_sizes": [64],
                                            "iterations": 2}))
        (root / "model_zoo" / "dynamic_output.onnx").write_bytes(
            (MODELS / "dynamic_output.onnx").read_bytes())
        (root / "model_zoo" / "d.json").write_text(json.dumps({
            "name": "d", "model_path": "dynamic_output.onnx", "framework": "Onnx",
            "framework_version": "1.0", "model_format": "onnx", "model_precision": "FP32",
            "inputs": "x", "outputs": "y", "input_shape": {"x": [1, 4]}, "input_type": "FLOAT32",
            "dataset_name": None}))
        build = pathlib.Path(ASSAY).parent.parent / "backends"
        run = self.run_assay("--task", "t", "--hardware_type", "CPU", "--quick",
                             ASSAY_ROOT=str(root), ASSAY_BACKENDS=str(build))
        self.assert_complete(run)
        self.assertEqual(run.phase("performance")["outcome"], "ok", run.result["phases"])
        row, = run.result["performance"]
        self.assertEqual((row["batch_size"], row["failures"]), (64, 0), row["reasons"])


class RawRecords(Case):
    """The numbers in result.json can be recomputed from the raw record."""

    def test_numbers_come_out_of_the_raw_record(self):
        run = self.run_assay(*FASHION, "--batch_sizes", "8", "--iterations", "300", "--keep_raw",
                             "--quick", "--data_percent", "100")
        self.assert_complete(run)
        row = run.result["performance"][0]
        rounds = [r for r in run.result["raw"] if "latency" in r["path"]]
        latencies = sorted(call[2] - call[0] for entry in rounds
                           for call in read_npy(run.folder / entry["path"]))
        self.assertEqual(len(latencies), row["samples"])
        self.assertEqual(latencies[0], row["latency_ns"]["min"])
        self.assertEqual(latencies[-1], row["latency_ns"]["max"])
        for name, p in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            if row["latency_ns"][name] is not None:
                rank = math.ceil(p * len(latencies) - 1e-9)
                self.assertEqual(latencies[rank - 1], row["latency_ns"][name])
        self.assertAlmostEqual(sum(latencies) / len(latencies), row["latency_ns"]["mean"], 3)
        outputs = [r for r in run.result["raw"] if "output" in r["path"]][0]
        logits = read_npy(run.folder / outputs["path"])
        labels = (ROOT / "datasets" / "fashion-mnist").glob("*labels*")
        truth = gzip.open(next(labels)).read()[8:]
        right = sum(max(range(10), key=scores.__getitem__) == truth[i]
                    for i, scores in enumerate(logits))
        self.assertEqual(right / len(logits), run.result["accuracy"]["value"])

    def test_without_being_asked_nothing_raw_is_kept(self):
        run = self.run_assay(*FASHION, *SHORT)
        self.assertEqual(run.result["raw"], [])
        self.assertFalse((run.folder / "raw").exists())


class Redraw(Case):
    def test_report_is_a_function_of_the_result(self):
        run = self.run_assay(*FASHION, "--compile_only")
        page = run.folder / "report.html"
        before = page.read_bytes()
        page.unlink()
        drawn = self.assay("report", run.folder)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertEqual(page.read_bytes(), before)

    def test_what_is_no_result_is_refused(self):
        path = self.temp / "result.json"
        path.write_text("{\"verdict\": 1}")
        drawn = self.assay("report", path)
        self.assertEqual(drawn.returncode, 2)
        self.assertIn("verdict", drawn.stderr)


class Listing(Case):
    def test_tasks_backends_and_data_sets(self):
        for what, word in (("tasks", "fashion-mnist-cnn-onnx-fp32"), ("backends", "CPU"),
                           ("datasets", "fashion")):
            with self.subTest(what):
                self.assertIn(word, self.assay("list", what).stdout)
                names = [row["name"] for row in json.loads(self.assay("list", what, "--json").stdout)]
                self.assertTrue(any(word in name for name in names))

    def test_environment(self):
        facts = json.loads(self.assay("env", "--json").stdout)
        self.assertIn("host", facts)
        self.assertEqual(self.assay("env", PATH="").returncode, 0)

    def test_json_run_prints_one_document(self):
        run = self.run_assay(*FASHION, "--compile-only", "--json")
        self.assertEqual(json.loads(run.out)["verdict"], run.result["verdict"])

    def test_no_subcommand_is_bad_input(self):
        self.assertEqual(self.assay().returncode, 2)
        self.assertEqual(self.assay("--help").returncode, 0)

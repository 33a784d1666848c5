"""Backends in Python, as a user runs them. They need an interpreter with NumPy: that of the oracles."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

from support import ASSAY, ROOT, SHORT, Case

PYTHON = os.environ.get("ASSAY_ORACLE_PYTHON", "")
VENDORS = ROOT / "tests" / "backends_python"
TASK = ["--task", "fashion-mnist-cnn-onnx-fp32"]
FEW = [*SHORT, "--data_percent", "2"]


def has_numpy(python):
    return bool(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0


class PythonCase(Case):
    def setUp(self):
        super().setUp()
        if not has_numpy(PYTHON):
            self.skipTest("there is no Python with NumPy; tools/setup --test brings one")

    def run_vendor(self, hardware, *arguments, python=PYTHON, **environment):
        chosen = ["--python", python] if python else []
        return self.run_assay(*TASK, "--hardware_type", hardware, "--backend_path", VENDORS, *chosen, *FEW,
                              *arguments, **environment)

    def outcomes(self, run):
        return {phase["name"]: phase["outcome"] for phase in run.result["phases"]}


class PublishedFolders(PythonCase):
    """A folder as vendors publish it runs with nothing in it edited."""

    def test_the_guides_example(self):
        run = self.run_vendor("GUIDE")
        self.assert_complete(run)
        self.assertEqual({outcome for outcome in self.outcomes(run).values()} - {"skipped"}, {"ok"}, run.err)
        backend = run.result["provenance"]["backend"]
        self.assertEqual(backend["language"], "python")
        self.assertEqual(backend["version"], "guide runtime 1.0")
        asked = subprocess.run([PYTHON, "-c", "import platform, numpy; print(platform.python_version(),"
                                " 'numpy==' + numpy.__version__)"], capture_output=True, text=True)
        version, numpy = asked.stdout.split()
        self.assertEqual(backend["python"]["version"], version)
        self.assertIn(numpy, backend["python"]["packages"])
        self.assertIsNone(backend["python"]["environment"])
        self.assertIn("one worker for all phases", run.result["provenance"]["worker_policy"])
        for row in run.result["performance"]:
            self.assertGreater(row["interpreter_lock_wait_ns_mean"], 0)
            self.assertEqual(row["failures"], 0)
        page = (run.folder / "report.html").read_text()
        for words in ("Wait for the interpreter&#39;s lock", numpy, "guide runtime 1.0"):
            self.assertTrue(words in page, words)
        self.assertTrue((run.folder / "logs" / "profile.log").exists())

    def test_the_vendors_claim_stands_beside_assays_figure(self):
        run = self.run_vendor("GUIDE", "--batch_sizes", "4")
        claim, = run.result["vendor_claim"]
        row, = run.result["performance"]
        self.assertEqual(claim["batch_size"], 4)
        self.assertEqual(claim["values"]["qps"], claim["raw"]["QPS"])
        self.assertEqual(claim["values"]["latency_p99_ms"], claim["raw"]["P99 Latency"])
        self.assertAlmostEqual(claim["qps_ratio"], claim["raw"]["QPS"] / row["qps"])

    def test_one_model_in_every_style_has_one_accuracy(self):
        found = {}
        for hardware in ("GUIDE", "POSITIONS", "TUPLES", "SETTINGS", "RENAMED", "OLDEST", "BESIDE", "ATHOME",
                         "MUTATES", "LIVE", "FIXED"):
            with self.subTest(hardware):
                run = self.run_vendor(hardware, "--stability", "repeat=2", "--batch_sizes", "4")
                self.assert_complete(run)
                self.assertEqual({*self.outcomes(run).values()} - {"skipped"}, {"ok"}, run.out + run.err)
                found[hardware] = run.result["accuracy"]["value"]
                self.folder = self.temp / ("after-" + hardware)
        self.assertEqual(len(set(found.values())), 1, found)

    def test_outputs_of_another_dtype_are_said(self):
        folder = shutil.copytree(VENDORS / "GUIDE", self.temp / "GUIDE")
        code = folder / "runtime_backend_guide.py"
        code.write_text(code.read_text().replace(" @ self.weights", " @ self.weights.astype(np.float64)"))
        said = []
        for path in (VENDORS / "GUIDE", folder):
            # Of a model in FP32 they would be converted.
            run = self.run_assay("--task", "fashion-mnist-cnn-onnx-int8", "--hardware_type", "GUIDE", "--backend_path",
                                 path, "--python", PYTHON, *FEW, "--stability", "repeat=1", "--batch_sizes", "4")
            said.append([note for note in run.result["notes"] if "FLOAT64" in note])
            self.folder = self.temp / "other"
        self.assertEqual(said, [[], ['Output "logits": the backend gives FLOAT64, the reference FLOAT32; they are'
                                     ' compared as they are.']])

    def test_nothing_is_written_into_the_vendors_folder(self):
        before = sorted(map(str, VENDORS.rglob("*")))
        self.run_vendor("GUIDE", "--compile_only")
        self.assertEqual(sorted(map(str, VENDORS.rglob("*"))), before)

    def test_the_command_that_repeats_a_run_names_all_of_it(self):
        run = self.run_vendor("STUBBED", "--stub", "absent_framework", "--stub", "other", "--compile_only")
        self.assert_complete(run)
        for words in (f"--backend_path {VENDORS}", f"--python {PYTHON}", "--stub absent_framework", "--stub other"):
            self.assertIn(words, run.result["command"])
        options = run.result["plan"]["options"]
        self.assertEqual(options["stubs"], ["absent_framework", "other"])
        self.assertEqual(run.result["provenance"]["backend"]["python"]["stubs"], ["absent_framework", "other"])

    def test_they_are_listed_without_being_loaded(self):
        listed = json.loads(self.assay("list", "backends", "--json", ASSAY_BACKENDS=str(VENDORS)).stdout)
        about = {each["name"]: each["about"] for each in listed}
        self.assertIn(str(VENDORS / "GUIDE"), about["GUIDE"])
        self.assertIn("CPU", about)

    def test_a_folder_that_is_named_is_listed(self):
        listed = json.loads(self.assay("list", "backends", "--json", "--backend_path", VENDORS / "GUIDE").stdout)
        self.assertIn("GUIDE", {each["name"] for each in listed})
        refused = self.assay("list", "backends", "--backend_path", VENDORS / "README.md")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--backend_path", refused.stderr)
        self.assertIn("is a file, its folder is wanted", refused.stderr)

    def test_the_folder_itself_may_be_named(self):
        run = self.run_assay(*TASK, "--hardware_type", "GUIDE", "--backend_path", VENDORS / "GUIDE", "--python",
                             PYTHON, "--compile_only")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.phase("compile")["outcome"], "ok")


class OneWorker(PythonCase):
    """The phases of a run share a process; a lost one costs its phase."""

    def test_each_phases_log_holds_what_was_printed_in_it(self):
        run = self.run_vendor("ENDS", VENDOR_ENDS="predict:abort")
        self.assert_complete(run)
        self.assertEqual(run.code, 3)
        accuracy = run.phase("accuracy")
        self.assertEqual(accuracy["outcome"], "crashed")
        self.assertIn("SIGABRT", accuracy["reason"])
        self.assertIn("about to end in predict", (run.folder / "logs" / "accuracy.log").read_text())
        self.assertNotIn("about to end", (run.folder / "logs" / "compile.log").read_text())
        # Python's own account of where the crash was.
        self.assertIn("runtime_backend_ends.py", (run.folder / "logs" / "accuracy.log").read_text())

    def process_of(self, run, log):
        words = (run.folder / "logs" / log).read_text().split("by process")[1].split()
        return int(words[0])

    def test_phases_share_a_process_until_one_is_lost(self):
        run = self.run_vendor("ENDS", "--stability", "repeat=1", "--batch_sizes", "1")
        self.assert_complete(run)
        first = self.process_of(run, "compile.log")
        for log in ("accuracy.log", "performance-b1-r0.log", "vendor_claim.log", "stability-repeat.log"):
            self.assertEqual(self.process_of(run, log), first, log)
        self.folder = self.temp / "lost"
        run = self.run_vendor("ENDS", "--stability", "repeat=1", "--batch_sizes", "1",
                              VENDOR_ENDS="get_loaded_batch_size:exit")
        self.assert_complete(run)
        first = self.process_of(run, "compile.log")
        self.assertEqual(self.process_of(run, "accuracy.log"), first)
        # That phase lost it; the next one that loads tries again in another.
        self.assertNotEqual(self.process_of(run, "performance-b1-size.log"), first)

    def test_a_manifest_of_a_backend_in_cpp_may_ask_for_it(self):
        backend = self.temp / "backends" / "CPU"
        shutil.copytree(pathlib.Path(ASSAY).parent.parent / "backends" / "CPU", backend)
        manifest = json.loads((backend / "manifest.json").read_text())
        (backend / "manifest.json").write_text(json.dumps({**manifest, "worker_policy": "per_run"}))
        run = self.run_assay(*TASK, "--hardware_type", "CPU", "--backend_path", backend, *FEW)
        self.assert_complete(run)
        self.assertEqual({*self.outcomes(run).values()} - {"skipped"}, {"ok"}, run.out + run.err)
        self.assertIn("one worker for all phases", run.result["provenance"]["worker_policy"])
        self.assertEqual(run.result["provenance"]["backend"]["language"], "cpp")
        # Another folder than the reference's is another backend, whatever its name.
        self.assertFalse(run.result["self_comparison"])

    def test_what_lives_in_its_process_is_not_tested_in_others(self):
        run = self.run_vendor("LIVE", "--stability", "process=2,compilation=2,repeat=2")
        self.assert_complete(run)
        for axis in ("process", "compilation"):
            entry, = [each for each in run.result["stability"] if each["axis"] == axis]
            self.assertEqual(entry["n"], 0)
            self.assertIn("not testable", entry["why"])

    def test_what_can_be_pickled_is_tested_in_others(self):
        run = self.run_vendor("GUIDE", "--stability", "process=2,compilation=1")
        self.assert_complete(run)
        tested = {each["axis"]: each["n"] for each in run.result["stability"]}
        self.assertEqual((tested["process"], tested["compilation"]), (2, 1))

    def test_every_phase_says_its_own_peak_memory(self):
        run = self.run_vendor("GUIDE")
        for name in ("probe", "compile", "accuracy"):
            self.assertGreater(run.phase(name)["peak_rss_bytes"], 1_000_000)


class Ends(PythonCase):
    """Wherever a backend ends its process, the outcome names how, and the report is complete."""

    PHASE_OF = {"import": "probe", "construction": "probe", "version": "probe",
                "get_interact_profile": "profile", "pre_optimize": "pre_optimize",
                "get_best_batch_size": "compile", "compile": "compile", "load": "accuracy",
                "get_loaded_batch_size": "accuracy", "predict": "accuracy", "benchmark": "vendor_claim"}

    def check(self, how, outcome, word, *arguments):
        for method, phase in self.PHASE_OF.items():
            with self.subTest(method):
                self.folder = self.temp / f"{method}-{how}"
                run = self.run_vendor("ENDS", "--stability", "repeat=1", "--batch_sizes", "1", *arguments,
                                      VENDOR_ENDS=f"{method}:{how}")
                self.assert_complete(run)
                self.assertEqual(run.code, 3, run.err)
                found = run.phase(phase)
                self.assertEqual(found["outcome"], outcome, found)
                self.assertIn(word, found["reason"])

    def test_abort(self):
        self.check("abort", "crashed", "SIGABRT")

    def test_exit(self):
        self.check("exit", "crashed", "exited with code 7")


class Hangs(Ends):
    test_abort = test_exit = None

    def test_spinning(self):
        self.check("spin", "timed_out", "took longer than", "--timeout", "5")


class Refusals(PythonCase):
    """Failures that are the vendor's, typed and named."""

    def faulty(self, fault):
        return self.run_vendor("FAULTY", "--set", f"fault={fault}", "--stability", "repeat=1")

    def test_sys_exit_is_a_failure_of_its_method(self):
        run = self.faulty("exits")
        self.assertEqual(run.code, 3)
        self.assertIn("the backend called sys.exit(3) in predict", run.phase("accuracy")["reason"])

    def test_a_missing_output(self):
        run = self.faulty("returns_none")
        self.assertEqual(run.phase("accuracy")["outcome"], "failed")
        self.assertIn("None", run.phase("accuracy")["reason"])

    def test_an_exception_names_its_type_and_line(self):
        reason = self.faulty("fails").phase("accuracy")["reason"]
        self.assertIn("ValueError: the queue is broken", reason)
        self.assertIn("runtime_backend_faulty.py:", reason)

    def test_a_missing_module(self):
        reason = self.faulty("compile_import").phase("compile")["reason"]
        for words in ("surely_not_installed", "--python", "--requirements", "--stub"):
            self.assertIn(words, reason)

    def test_python_options_need_a_backend_in_python(self):
        run = self.run_assay(*TASK, "--hardware_type", "CPU", "--stub", "torch")
        self.assert_refused(run, "--stub", "CPU", "C++")

    def test_a_path_without_backends(self):
        run = self.run_assay(*TASK, "--hardware_type", "GUIDE", "--backend_path", self.temp)
        self.assert_refused(run, "--backend_path", "compile_backend_")

    def test_an_interpreter_that_is_none(self):
        run = self.run_vendor("GUIDE", python="/no/such/python")
        self.assert_refused(run, "--python", "/no/such/python")


def make_wheel(folder, name, version):
    """A package of one empty module, as an installer takes it."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class Environments(Case):
    """Made once of their requirements, without a network here: the index is a folder."""

    def setUp(self):
        super().setUp()
        self.cache = self.temp / "cache"
        self.cache.mkdir()
        self.wheels = self.temp / "wheels"
        self.wheels.mkdir()
        make_wheel(self.wheels, "numpy", "99.1")
        make_wheel(self.wheels, "thing", "1.5")

    def run_with(self, requirements, folder="run", **environment):
        file = self.temp / "wanted.txt"
        file.write_text(requirements)
        return self.run_assay(*TASK, "--hardware_type", "GUIDE", "--backend_path", VENDORS, "--requirements", file,
                              "--python", sys.executable, "--compile_only", folder=self.temp / folder,
                              ASSAY_CACHE=str(self.cache), PIP_NO_INDEX="1",
                              PIP_FIND_LINKS=self.wheels.as_uri(), **environment)

    def test_made_once_and_used_again_without_an_installer(self):
        first = self.run_with("thing==1.5\n")
        self.assertIn("Successfully installed numpy-99.1 thing-1.5", first.out)
        python = first.result["provenance"]["backend"]["python"]
        self.assertIn("numpy==99.1", python["packages"])
        self.assertIn("thing==1.5", python["packages"])
        for wheel in self.wheels.iterdir():
            wheel.unlink()
        again = self.run_with("thing==1.5\n", "again")
        self.assertNotIn("python:", again.out)
        self.assertEqual(again.result["provenance"]["backend"]["python"], python)
        made, = (self.cache / "python").iterdir()
        self.assertEqual(made.name, python["environment"])

    def test_other_requirements_are_another_environment(self):
        one = self.run_with("thing==1.5\n")
        other = self.run_with("thing==1.5\n# and a word\n", "other")
        self.assertNotEqual(one.result["provenance"]["backend"]["python"]["environment"],
                            other.result["provenance"]["backend"]["python"]["environment"])

    def test_what_cannot_be_had_says_why_and_what_to_do(self):
        run = self.run_with("thing==2.4.0\n")
        self.assert_refused(run, "ERROR: No matching distribution found for thing==2.4.0", "1.5", "--python",
                            "--requirements", "install.log")

    def test_one_that_was_interrupted_is_not_used(self):
        first = self.run_with("thing==1.5\n")
        folder = self.cache / "python" / first.result["provenance"]["backend"]["python"]["environment"]
        (folder / "environment.json").unlink()
        again = self.run_with("thing==1.5\n", "again")
        self.assertIn("Successfully installed numpy-99.1 thing-1.5", again.out)
        self.assertTrue(json.loads((folder / "environment.json").read_text())["packages"])


if __name__ == "__main__":
    unittest.main()

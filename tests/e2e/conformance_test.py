"""assay check-backend as a vendor types it: backends that keep the contract pass, and each planted
violation is found by its check and by no other."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import support

OPENVINO = pathlib.Path(support.ASSAY).parent.parent / "backends/OPENVINO/libassay_backend_openvino.so"

EXAMPLES = support.ROOT / "examples/backend_python"
PYTHON = os.environ.get("ASSAY_ORACLE_PYTHON", "")


class Suite(support.Case):
    def check(self, hardware_type, *arguments, code=None, **environment):
        """The report of a quick run."""
        run = self.assay("check-backend", hardware_type, "--quick", "--json", *arguments,
                         HOME=str(self.temp), **environment)
        if code is not None:
            self.assertEqual(run.returncode, code, run.stderr + run.stdout)
        return json.loads(run.stdout)

    def outcomes(self, report):
        return {check["name"]: check["outcome"] for check in report["checks"]}

    def named(self, report, outcome):
        return [check["name"] for check in report["checks"] if check["outcome"] == outcome]

    def details(self, report, outcome):
        return {check["name"]: check["detail"] for check in report["checks"]
                if check["outcome"] == outcome}


class KeptContracts(Suite):
    def assert_keeps(self, hardware_type, *unsupported, arguments=()):
        report = self.check(hardware_type, *arguments)
        self.assertEqual(self.details(report, "failed"), {})
        self.assertEqual(self.details(report, "skipped"), {})
        self.assertTrue(report["ok"])
        families = {name.split(".")[0] for name in self.named(report, "not_supported")}
        self.assertEqual(families, set(unsupported))
        return report

    def test_cpu(self):
        report = self.assert_keeps("CPU", "async", "segments")
        self.assertEqual(self.outcomes(report)["dtype.FLOAT8E4M3"], "passed")

    @unittest.skipUnless(OPENVINO.exists(), "OPENVINO is not built")
    def test_openvino(self):
        self.assert_keeps("OPENVINO", "async", "dtype", "segments")

    def test_null(self):
        self.assert_keeps("NULL", "dtype", "rank", "empty", "big", "compile", "artifact", "async", "segments")

    def test_a_model_in_segments(self):
        report = self.assert_keeps("SEGMENTS", "async", "probe")
        check, = [check for check in report["checks"] if check["name"] == "segments"]
        self.assertEqual(check["detail"], "3 segments, 1 of them on the CPU")

    def test_dma_is_asynchronous_and_has_the_device_for_itself(self):
        report = self.assert_keeps("DMA", "dtype", "rank", "empty", "big", "compile", "artifact",
                                   "parallel", "segments")
        outcomes = self.outcomes(report)
        for name in ("complete", "full", "nested", "cancel", "close"):
            self.assertEqual(outcomes["async." + name], "passed")
        self.assertEqual(outcomes["parallel.processes"], "not_supported")

    @unittest.skipUnless(PYTHON, "no interpreter with ONNX Runtime")
    def test_the_example_in_python(self):
        report = self.assert_keeps("ORTPY", "open", "versions", "probe", "dtype", "async", "segments",
                                   arguments=("--backend_path", EXAMPLES, "--python", PYTHON))
        self.assertIn("--python " + PYTHON, report["checks"][0]["command"])
        numpys = [name for name, outcome in self.outcomes(report).items()
                  if name.startswith("dtype.") and outcome == "passed"]
        self.assertEqual(len(numpys), 12)

    def test_faulty_without_a_fault(self):
        report = self.check("FAULTY", code=0)
        self.assertEqual(self.details(report, "failed"), {})


class PlantedViolations(Suite):
    """Each violation is reported by its check, and by no other of those that are run. Of dtypes and
    ranks two are: the others would say the same."""
    LEFT_OUT = tuple(f"dtype.{name}" for name in (
        "FLOAT64", "FLOAT16", "BFLOAT16", "FLOAT8E4M3", "INT64", "INT32", "INT16", "UINT8", "BOOL",
        "UINT16", "UINT32", "UINT64")) + tuple(f"rank.{rank}" for rank in (0, 1, 3, 4, 6, 7, 8))

    def checks(self):
        listed = json.loads(self.assay("check-backend", "--list", "--json").stdout)
        return [word for check in listed if check["name"] not in self.LEFT_OUT
                for word in ("--check", check["name"])]

    def assert_found_alone(self, hardware_type, variable, fault, check):
        report = self.check(hardware_type, *self.checks(), **{variable: fault})
        self.assertEqual(self.named(report, "failed"), [check], self.details(report, "failed"))


class ViolationsOfCompiling(PlantedViolations):
    FAULTS = {
        "entry_thread": "open", "accepts_any_host": "versions", "version_counts": "identity",
        "bad_profile": "profile", "probe_opens": "probe", "bad_result": "compile",
        "ignores_cancel": "compile.cancel", "writes_home": "compile.folder",
        "second_compile": "compile.twice", "accepts_corrupt": "compile.corrupt",
        "absolute_artifact": "artifact.moved", "stuck_after_failure": "artifact.broken",
        "ascii_paths": "paths",
    }


class ViolationsOfCalls(PlantedViolations):
    FAULTS = {
        "no_int8": "dtype.INT8", "no_rank_5": "rank.5", "first_row_only": "batch.dynamic",
        "maximum_lies": "batch.maximum", "no_empty": "empty", "short_transfer": "big",
        "writes_inputs": "inputs.kept", "skips_bytes": "outputs.written", "drifts": "repeat",
    }

    def test_wrong_answers_are_found_wherever_answers_are_known(self):
        report = self.check("WRAPPER", "--check", "answers", "--check", "repeat", code=1,
                            WRAPPER_FAULT="wrong_answers")
        self.assertEqual(self.named(report, "failed"), ["answers", "repeat"])


class ViolationsOfProcesses(PlantedViolations):
    FAULTS = {
        "shared_handles": "parallel.handles", "one_process": "parallel.processes",
        "two_threads": "threads", "load_once": "load.again", "leaks_memory": "load.memory",
        "wedged": "deadline", "leaks_descriptor": "close", "leaves_child": "close",
    }


class ViolationsOfSubmittedCalls(PlantedViolations):
    OF_DMA = {"twice": "async.complete", "deeper": "async.full", "no_nested": "async.nested",
              "cancel_any": "async.cancel", "close_forgets": "async.close"}


def _add_tests(case, faults, hardware_type, variable):
    """One test for each violation, so that one that fails is named."""
    for fault, check in faults.items():
        def test(self, fault=fault, check=check):
            self.assert_found_alone(hardware_type, variable, fault, check)
        setattr(case, f"test_{fault}", test)


for _case in (ViolationsOfCompiling, ViolationsOfCalls, ViolationsOfProcesses):
    _add_tests(_case, _case.FAULTS, "WRAPPER", "WRAPPER_FAULT")
_add_tests(ViolationsOfSubmittedCalls, ViolationsOfSubmittedCalls.OF_DMA, "DMA", "DMA_FAULT")


class BrokenBackends(Suite):
    def copy_of_null(self, change):
        """A folder of backends with one NULL in it whose manifest was changed."""
        source = support.pathlib.Path(support.ASSAY).parents[1] / "backends" / "NULL"
        folder = self.temp / "backends" / "NULL"
        shutil.copytree(source, folder)
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))
        return str(folder.parent)

    def test_a_manifest_that_cannot_be_read_is_one_failed_check(self):
        folder = self.copy_of_null(lambda manifest: manifest.update(libary="x"))
        report = self.check("NULL", code=1, ASSAY_BACKENDS=folder)
        self.assertEqual(self.named(report, "failed"), ["manifest"])
        self.assertIn("libary", report["checks"][0]["detail"])
        self.assertEqual(self.outcomes(report)["answers"], "skipped")

    def test_a_library_that_is_missing_is_named(self):
        folder = self.copy_of_null(lambda manifest: manifest.update(library="none.so"))
        report = self.check("NULL", code=1, ASSAY_BACKENDS=folder)
        self.assertEqual(self.named(report, "failed"), ["manifest", "open"])
        self.assertIn("none.so", report["checks"][0]["detail"])

    def test_what_is_declared_unsupported_is_shown_as_such(self):
        def change(manifest):
            manifest.update(model_formats=["onnx"], dtypes=["FLOAT32"], ranks=[2],
                            dynamic_batch=False, empty_tensors=False)
        folder = self.copy_of_null(change)
        names = ("dtype", "rank", "batch.dynamic", "empty")
        asked = [word for name in names for word in ("--check", name)]
        report = self.check("NULL", *asked, ASSAY_BACKENDS=folder)
        outcomes = self.outcomes(report)
        for name in ("dtype.INT8", "rank.3", "batch.dynamic", "empty"):
            self.assertEqual(outcomes[name], "not_supported", name)
        # What it did not declare has to work, and this backend knows only a model of its own.
        self.assertEqual(outcomes["dtype.FLOAT32"], "failed")

    def test_a_format_that_the_suite_cannot_make_asks_for_a_model(self):
        folder = self.copy_of_null(lambda manifest: manifest.update(model_formats=["tflite"]))
        report = self.check("NULL", "--check", "answers", code=1, ASSAY_BACKENDS=folder)
        self.assertIn("--model", self.details(report, "skipped")["answers"])

    def test_a_crash_is_one_failed_check_that_says_where(self):
        report = self.check("FAULTY", "--check", "identity", "--check", "answers", "--check", "close",
                            code=1, ASSAY_FAULT="infer:segfault")
        self.assertEqual(self.outcomes(report),
                         {"identity": "passed", "answers": "failed", "close": "failed"})
        self.assertIn("SIGSEGV", self.details(report, "failed")["answers"])

    def test_a_hang_is_one_failed_check(self):
        report = self.check("FAULTY", "--check", "identity", "--check", "answers", "--timeout", "3",
                            code=1, ASSAY_FAULT="load:hang")
        self.assertEqual(self.outcomes(report), {"identity": "passed", "answers": "failed"})
        self.assertIn("timed_out", self.details(report, "failed")["answers"])


class NewBackend(Suite):
    # What the published engine has, as far as an empty backend asks for it.
    ENGINE = {
        "general_perf/__init__.py": "",
        "general_perf/backends/compile_backend.py": "class CompileBackend:\n    pass\n",
        "general_perf/backends/runtime_backend.py": "class RuntimeBackend:\n    pass\n",
        "numpy/__init__.py": "import array as _array\n\nndarray = _array.array\n\n"
                             "class array(list):\n    pass\n",
    }
    USE = """
import json, sys
from general_perf.backends.MY_CARD.compile_backend_my_card import CompileBackendMY_CARD
from general_perf.backends.MY_CARD.runtime_backend_my_card import RuntimeBackendMY_CARD
info = {"model": "m", "framework": "None", "input_type": "FLOAT32", "input_shape": {"x": [1, 4]},
        "outputs": "y, z", "model_path": "m.onnx"}
compiler = CompileBackendMY_CARD()
result = compiler.compile(compiler.pre_optimize({"workload": {}, "model_info": info}))
runtime = RuntimeBackendMY_CARD()
runtime.configs, runtime.model_info = result, info
runtime.load(2)
try:
    runtime.load(4096)
    refused = False
except ValueError:
    refused = True
print(json.dumps([compiler.hardware_type, compiler.get_interact_profile({}), result["compile_status"],
                  runtime.get_loaded_batch_size(), runtime.predict({"x": [1, 2]}), refused]))
"""

    def test_in_python_is_what_the_engine_imports_and_calls(self):
        engine = self.temp / "engine"
        run = self.assay("new-backend", "MY_CARD", "--language", "python", "--output",
                         engine / "general_perf" / "backends")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("runtime_backend_my_card.py", run.stdout)
        for name, text in self.ENGINE.items():
            path = engine / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        used = subprocess.run([sys.executable, "-B", "-c", self.USE], capture_output=True, text=True,
                              cwd=engine)
        self.assertEqual(used.returncode, 0, used.stderr)
        self.assertEqual(json.loads(used.stdout),
                         ["MY_CARD", [], "success", 2, {"y": [1, 2], "z": [1, 2]}, True])

    @unittest.skipUnless(PYTHON, "no interpreter with NumPy")
    def test_in_python_passes_what_an_empty_backend_can(self):
        run = self.assay("new-backend", "MY_CARD", "--language", "python", "--output", self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = self.check("MY_CARD", "--backend_path", self.folder, "--python", PYTHON)
        self.assertEqual(self.details(report, "failed"), {})
        self.assertEqual(self.details(report, "skipped"), {})

    def test_bad_input_is_refused_and_nothing_is_written(self):
        for arguments, word in ((("mycard", "--language", "cpp"), "upper case"),
                                (("MYCARD", "--language", "rust"), "cpp, python")):
            run = self.assay("new-backend", *arguments, "--output", self.folder)
            self.assertEqual(run.returncode, 2)
            self.assertIn(word, run.stderr)
            self.assertFalse(self.folder.exists())


class CommandOfTheSuite(Suite):
    def test_list_names_every_check_with_its_contract(self):
        listed = self.assay("check-backend", "--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        as_json = json.loads(self.assay("check-backend", "--list", "--json").stdout)
        self.assertEqual(len(listed.stdout.splitlines()), len(as_json))
        self.assertIn("dtype.BFLOAT16", [check["name"] for check in as_json])

    def test_bad_input_is_refused_in_one_message(self):
        for arguments, words in (((), "which one"), (("NOPE",), "NOPE"),
                                 (("NULL", "--check", "anwsers"), "did you mean \"answers\""),
                                 (("NULL", "--model", "/none.onnx"), "--model")):
            run = self.assay("check-backend", *arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn(words, run.stderr)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1)

    def test_options_of_a_python_backend_are_refused_for_another(self):
        run = self.assay("check-backend", "NULL", "--stub", "torch")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("--stub: accepted with a backend in Python; NULL", run.stderr)

    def test_a_python_backend_without_its_interpreter_is_bad_input(self):
        run = self.assay("check-backend", "ORTPY", "--backend_path", EXAMPLES, "--python", "no-such-python")
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("no-such-python", run.stderr)

    def test_a_failure_says_contract_what_was_seen_and_its_own_command(self):
        run = self.assay("check-backend", "WRAPPER", "--quick", "--check", "identity",
                         WRAPPER_FAULT="version_counts")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("FAILED identity\n  contract: hardware_type is", run.stdout)
        self.assertIn("  only that: assay check-backend WRAPPER --quick --check identity\n", run.stdout)
        command = [line for line in run.stdout.splitlines() if "only that" in line][0].split()[2:]
        again = subprocess.run([support.ASSAY, *command[1:]], capture_output=True, text=True,
                               env=self.environment(WRAPPER_FAULT="version_counts"), cwd=self.temp)
        self.assertEqual(again.returncode, 1)
        self.assertIn("1 failed", again.stdout)

    def test_the_command_is_given_as_it_was_typed(self):
        run = self.assay("check-backend", "WRAPPER", "--quick", "--check", "identity",
                         WRAPPER_FAULT="version_counts", ASSAY_TYPED_AS="./assay")
        self.assertIn("  only that: ./assay check-backend WRAPPER --quick --check identity\n", run.stdout)

    def test_junit_counts_and_escapes(self):
        path = self.temp / "suite ä.xml"
        run = self.assay("check-backend", "NULL", "--quick", "--check", "identity", "--check", "async",
                         "--junit", path)
        self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
        suite = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("6", "0", "5"))
        self.assertEqual(suite.find("testcase").get("name"), "identity")

    def test_output_keeps_logs_and_nothing_is_left_without_it(self):
        run = self.assay("check-backend", "NULL", "--check", "identity", "--output", self.folder,
                         TMPDIR=str(self.temp))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.folder / "logs" / "identity.log").exists())
        self.assertEqual([name for name in os.listdir(self.temp) if name.startswith("assay-check")], [])

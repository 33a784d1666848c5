"""A zoo of backends that misbehave, each in each of its methods: whatever one does costs its phase, and nothing else."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import unittest

from support import ASSAY, ROOT, TEST_BACKENDS, Case, Run

CACHED = ("data", "deps", "downloads", "models", "reference", "fetch", "setup")
# Whatever comes of a misdeed in a method, the phases that do not need the method run.
PHASES = ["probe", "profile", "pre_optimize", "compile", "reference", "accuracy", "numeric", "stability",
          "performance"]

# Where it happens, in whose phase it is found, and what the reason calls it.
METHODS = {"open": ("probe", "open"),
           "probe": ("probe", "probe"),
           "create": ("probe", "create"),
           "version": ("probe", "version"),
           "profile": ("profile", "interact_profile"),
           "pre_optimize": ("pre_optimize", "pre_optimize"),
           "best_batch_size": ("compile", "best_batch_size"),
           "compile": ("compile", "compile"),
           "load": ("accuracy", "load"),
           "loaded_batch_size": ("accuracy", "load"),
           "infer": ("accuracy", "infer"),
           "benchmark": ("vendor_claim", "benchmark"),
           "close": ("accuracy", "close")}
# The phases that cannot be without one that was lost.
NEEDED_BY = {"probe": {"pre_optimize", "compile", "reference", "accuracy"},
             "compile": {"reference", "accuracy"}}

ENDS = {"abort": ("crashed", "SIGABRT"), "segfault": ("crashed", "SIGSEGV"), "fpe": ("crashed", "SIGFPE"),
        "stack_overflow": ("crashed", "SIGSEGV"), "terminate": ("crashed", "SIGABRT"),
        "kill_self": ("crashed", "SIGKILL"), "exit0": ("crashed", "exited with code 0"),
        "exit3": ("crashed", "exited with code 3"), "leave0": ("crashed", "exited with code 0"),
        "leave3": ("crashed", "exited with code 3"), "children_and_end": ("crashed", "SIGABRT")}
THROWS = {"throw": "thrown on demand", "throw_int": "not a std::exception", "throw_no_text": "\ufffd",
          "throw_long": "xxx", "error": "failed on demand",
          "cancel": "cancelled by nobody"}
HANGS = ("hang", "spin", "hang_deaf", "hang_blocked", "flood_for_ever")
HARMLESS = ("flood", "children", "close_fds", "close_output", "babble", "handlers", "deaf", "block_signals",
            "dlclose", "change_process", "change_rounding", "litter")
# What a method of its own returns that it must not: the outcome is failed.
WORDS = {"version:huge_text": "version", "profile:bad_json": "get_interact_profile",
         "profile:deep_json": "nests deeper", "profile:huge_text": "interact_profile",
         "pre_optimize:bad_json": "pre_optimize", "pre_optimize:bad_text": "pre_optimize",
         "pre_optimize:deep_json": "nests deeper", "pre_optimize:huge_text": "pre_optimize",
         "compile:bad_json": "compile returned", "compile:bad_text": "compile result",
         "compile:deep_json": "nests deeper", "compile:huge_text": "compile",
         "best_batch_size:no_sizes": "get_best_batch_size", "best_batch_size:negative_sizes": "-4",
         "loaded_batch_size:lie": "get_loaded_batch_size gave -3",
         "infer:wrong_shape": "logits", "infer:wrong_bytes": "logits", "infer:wrong_dtype": "logits",
         "infer:wrong_name": "logits", "infer:twice": "logits", "infer:no_output": "logits",
         "infer:too_many": "output 1", "infer:write_beyond": "beyond",
         "benchmark:bad_json": "benchmark", "benchmark:deep_json": "nests deeper",
         "benchmark:huge_text": "benchmark"}


def shared_names():
    try:
        segments = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        return {*os.listdir("/dev/shm"), *(line.split()[1] for line in segments)}
    except OSError:
        return set()


def processes_of(mark):
    """Live processes that have `mark` in their environment or command."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


class Zoo(Case):
    """One task whose phases are cheap, in a root of its own; each run has its own cache, output and folder, so
    that several go at once."""

    hardware = "FAULTY"
    misdeed = "ASSAY_FAULT"
    methods = METHODS
    repeats = False
    extra = ()

    def setUp(self):
        super().setUp()
        self.root = self.temp / "root"
        (self.root / "workloads").mkdir(parents=True)
        for name in ("model_zoo", "datasets", "python"):
            (self.root / name).symlink_to(ROOT / name)
        task = {"model": "fashion-mnist-cnn-onnx-fp32", "test_perf": False, "test_numeric": False,
                "test_stability": False}
        (self.root / "workloads" / "zoo.json").write_text(json.dumps(task))
        (self.root / "workloads" / "claims.json").write_text(json.dumps({**task, "test_perf": True}))

    def run_one(self, where, what, *arguments, **environment):
        """The run, and what it left behind."""
        here = self.temp / f"{where}-{what}"
        cache = here / "cache"
        for folder in (cache, here / "temporary", here / "cwd"):
            folder.mkdir(parents=True)
        own = pathlib.Path(os.environ.get("ASSAY_CACHE", pathlib.Path.home() / ".cache" / "assay"))
        for name in CACHED:
            if (own / name).exists():
                (cache / name).symlink_to(own / name)
        before = set(os.listdir(cache))
        build = pathlib.Path(ASSAY).parent.parent
        variables = {**self.environment(), "ASSAY_CACHE": str(cache), "ASSAY_ROOT": str(self.root),
                     "ASSAY_BACKENDS": f"{TEST_BACKENDS}:{build / 'backends'}", "TMPDIR": str(here / "temporary"),
                     self.misdeed: f"{where}:{what}", **environment}
        task = "claims" if where == "benchmark" else "zoo"
        process = subprocess.run([ASSAY, "run", "--output", str(here / "run"), "--task", task, "--hardware_type",
                                  self.hardware, "--quick", "--iterations", "1", "--data_percent", "1",
                                  "--batch_sizes", "4", *self.extra, *map(str, arguments)],
                                 capture_output=True, text=True, errors="replace", env=variables, cwd=here / "cwd",
                                 timeout=600)
        run = Run(process, here / "run")
        run.processes = processes_of(str(cache))
        run.left = sorted([str(path) for part in ("temporary", "cwd") for path in (here / part).rglob("*")]
                          + sorted(set(os.listdir(cache)) - before - {"locks", "tmp"})
                          + [str(path) for path in (cache / "tmp").glob("*")])
        return run

    def run_all(self, table, *arguments, **environment):
        """The runs of {(where, what): ...}, several at once, and the assertions that hold for each of them."""
        names = shared_names()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            started = {key: pool.submit(self.run_one, *key, *arguments, **environment) for key in table}
            runs = {key: future.result() for key, future in started.items()}
        for key, run in runs.items():
            with self.subTest(":".join(key)):
                self.assert_complete(run)
                self.assertEqual(run.processes, [], "a process is left")
                self.assertEqual(run.left, [], "a file is left")
        self.assertEqual(shared_names() - names, set(), "a name in shared memory is left")
        return runs

    def assert_lost(self, run, where, outcome, *words):
        """The method's phase ended so, and says it; the phases that do not need it are as ever."""
        phase, method = self.methods[where]
        entry = run.phase(phase)
        self.assertEqual(entry["outcome"], outcome, entry)
        for word in (method, *words):
            self.assertIn(word, entry["reason"])
        self.assertEqual(run.code, 3, run.err)
        self.assertEqual([each["name"] for each in run.result["phases"]][:len(PHASES)], PHASES)
        for each in run.result["phases"]:
            # A Python backend's worker that was lost has its earlier methods called again.
            also = self.repeats or phase == "accuracy" or where in ("open", "import") or each["name"] == phase
            if each["name"] in NEEDED_BY.get(phase, ()):
                self.assertEqual(each["outcome"], "skipped", each)
            if not also and each["name"] not in NEEDED_BY.get(phase, ()):
                self.assertIn(each["outcome"], ("ok", "skipped"), each)


class Ending(Zoo):
    def test_the_process_ends_in_every_method(self):
        for key, run in self.run_all([(where, what) for where in METHODS for what in ENDS]).items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], *ENDS[key[1]])

    def test_every_method_throws(self):
        # The constructors of a library that throw end the process.
        for key, run in self.run_all([(where, what) for where in METHODS if where != "open"
                                      for what in THROWS]).items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "failed", THROWS[key[1]])


class Hanging(Zoo):
    def test_no_method_returns(self):
        runs = self.run_all([(where, what) for where in METHODS for what in HANGS], "--timeout", "2")
        for key, run in runs.items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "timed_out", "took longer than 2 s")


class Harmless(Zoo):
    def test_what_a_method_does_beside_its_work_costs_nothing(self):
        for key, run in self.run_all([(where, what) for where in METHODS for what in HARMLESS]).items():
            with self.subTest(":".join(key)):
                for phase in run.result["phases"]:
                    self.assertIn(phase["outcome"], ("ok", "skipped"), phase)
                if key[1] == "litter":
                    self.assertTrue(any("shared memory behind, which was removed: /dev/shm/assay_litter" in text
                                        for text in run.result["warnings"]), run.result["warnings"])


class Words(Zoo):
    def test_what_a_method_says_is_held_against_the_contract(self):
        for key, run in self.run_all([tuple(text.split(":")) for text in WORDS]).items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "failed", WORDS[":".join(key)])


class Stacks(Zoo):
    """Where a worker was that had to be stopped is in the report, or why that cannot be said."""

    def test_of_the_method_that_hangs(self):
        runs = self.run_all([(where, "spin") for where in METHODS], "--timeout", "2")
        for key, run in runs.items():
            with self.subTest(":".join(key)):
                stack = run.phase(METHODS[key[0]][0])["stack"]
                self.assertIn("thread", stack[0])
                self.assertTrue(any("spin" in line and "libassay_backend_faulty.so" in line for line in stack), stack)
                page = (run.folder / "report.html").read_text()
                self.assertIn("libassay_backend_faulty.so", page)

    def test_that_cannot_be_had_says_why(self):
        for what, why in (("hang_deaf", "ignores the signal"), ("hang_blocked", "blocks the signal")):
            run = self.run_all([("load", what)], "--timeout", "2")["load", what]
            self.assertIn(why, run.phase("accuracy")["stack"][0])


class Floods(Zoo):
    def test_a_log_is_bounded_and_says_what_is_missing(self):
        run = self.run_all([("load", "flood")])["load", "flood"]
        log = run.folder / "logs" / "accuracy.log"
        self.assertLess(log.stat().st_size, 20 << 20)
        self.assertIn("bytes that stood here were dropped", log.read_text())
        self.assertTrue(any("logs/accuracy.log are dropped" in text for text in run.result["warnings"]),
                        run.result["warnings"])


# A row that is measured uses CPU time of its own: at most 10 s of warm-up and 5 s of window, at least 1 s of both.
CPU_LIMITS = {2: [where for where in METHODS if where != "benchmark"], 20: ["benchmark"]}


class Limits(Zoo):
    def test_cpu_time(self):
        """Of the worker itself; one that only waits uses none."""
        for seconds, methods in CPU_LIMITS.items():
            runs = self.run_all([(where, "spin") for where in methods], "--worker_cpu_limit", seconds)
            for key, run in runs.items():
                with self.subTest(":".join(key)):
                    self.assert_lost(run, key[0], "timed_out", f"s of CPU time, {seconds} s are allowed")
                    self.assertTrue(run.phase(METHODS[key[0]][0])["stack"])
                    limits = run.result["provenance"]["worker_limits"]
                    self.assertEqual(limits["cpu_ns_per_phase"], seconds * 1_000_000_000)

    def test_memory(self):
        runs = self.run_all([(where, what) for where in METHODS for what in ("eat_memory", "child_eats_memory")],
                            "--worker_memory_limit", "0.5")
        for key, run in runs.items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "out_of_memory", "500 MB are allowed")
                self.assertEqual(run.result["provenance"]["worker_limits"]["memory_bytes"], 500_000_000)


PYTHON = os.environ.get("ASSAY_ORACLE_PYTHON", "")
PYTHON_METHODS = {"import": ("probe", ""), "construction": ("probe", "get_traits"), "version": ("probe", "version"),
                  "get_interact_profile": ("profile", "get_interact_profile"),
                  "pre_optimize": ("pre_optimize", "pre_optimize"),
                  "get_best_batch_size": ("compile", "best_batch_size"), "compile": ("compile", "compile"),
                  "load": ("accuracy", "load"), "get_loaded_batch_size": ("accuracy", "load"),
                  "predict": ("accuracy", "infer"), "benchmark": ("vendor_claim", "benchmark")}
PYTHON_ENDS = {"abort": ("crashed", "SIGABRT"), "segfault": ("crashed", "SIGSEGV"), "kill": ("crashed", "SIGKILL"),
               "exit": ("crashed", "code 7"), "exit0": ("crashed", "code 0")}
PYTHON_THROWS = {"throw": "ValueError: thrown on demand", "interrupt": "thrown on demand",
                 "sys_exit": "sys.exit(3)", "throw_no_text": "RuntimeError", "recurse": "RecursionError"}
PYTHON_HANGS = ("spin", "sleep", "hang_deaf")
PYTHON_HARMLESS = ("flood", "children", "close_fds", "close_output", "handlers", "deaf", "change_process",
                   "litter")


class PythonZoo(Zoo):
    hardware = "ENDS"
    misdeed = "VENDOR_ENDS"
    methods = PYTHON_METHODS
    repeats = True
    extra = ("--backend_path", ROOT / "tests" / "backends_python", "--python", PYTHON)

    def setUp(self):
        super().setUp()
        if not PYTHON or subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode != 0:
            self.skipTest("there is no Python with NumPy; tools/setup --test brings one")

    def table(self, deeds):
        return [(where, what) for where in PYTHON_METHODS for what in deeds]

    def test_the_process_ends_in_every_method(self):
        for key, run in self.run_all(self.table(PYTHON_ENDS)).items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], *PYTHON_ENDS[key[1]])

    def test_every_method_raises(self):
        for key, run in self.run_all(self.table(PYTHON_THROWS)).items():
            with self.subTest(":".join(key)):
                if key[0] == "benchmark" and run.phase("vendor_claim")["outcome"] == "skipped":  # a claim less is no failure, and said
                    self.assertTrue(any("benchmark fails" in note and PYTHON_THROWS[key[1]] in note
                                        for note in run.result["notes"]), run.result["notes"])
                    continue
                self.assert_lost(run, key[0], "failed", PYTHON_THROWS[key[1]])

    def test_no_method_returns(self):
        for key, run in self.run_all(self.table(PYTHON_HANGS), "--timeout", "4").items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "timed_out", "took longer than 4 s")

    def test_what_a_method_does_beside_its_work_costs_nothing(self):
        for key, run in self.run_all(self.table(PYTHON_HARMLESS)).items():
            with self.subTest(":".join(key)):
                for phase in run.result["phases"]:
                    self.assertIn(phase["outcome"], ("ok", "skipped"), phase)

    def test_memory(self):
        runs = self.run_all(self.table(["eat_memory"]), "--worker_memory_limit", "0.6")
        for key, run in runs.items():
            with self.subTest(":".join(key)):
                self.assert_lost(run, key[0], "out_of_memory", "600 MB are allowed")


if __name__ == "__main__":
    unittest.main()

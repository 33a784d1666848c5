"""The backend KSERVE on real servers that nobody here wrote, on loopback: started here, on ports that the
system gives them, and ended here."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, Case

SERVERS = ROOT / "tests/servers"
MODEL_NAME = "fashion-mnist-cnn-onnx-fp32"
LISTENING = re.compile(r"(?:Uvicorn running|Listening) on http://[^:]+:([1-9][0-9]*)")


class Server:
    """One server in a process group of its own. Its output is read until it says its port."""

    def __init__(self, interpreter, program, folder):
        self.log = folder / "server.log"
        environment = {**os.environ, "MODEL_NAME": MODEL_NAME, "PYTHONUNBUFFERED": "1",
                       "MODEL": str(ROOT / "model_zoo/fashion_mnist_cnn.onnx")}
        self.process = subprocess.Popen([interpreter, "-B", program], cwd=folder, env=environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True)
        self.url = f"http://127.0.0.1:{self.read_port()}"
        # What it says from now on is read by nobody else; it must not block on a full pipe.
        with self.log.open("w") as log:
            self.drain = subprocess.Popen(["cat"], stdin=self.process.stdout, stdout=log)

    def read_port(self):
        said = []
        for line in self.process.stdout:
            said.append(line)
            found = LISTENING.search(line)
            if found:
                return found.group(1)
        raise AssertionError("the server did not start:\n" + "".join(said))

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.drain.wait()


class ServerCase(Case):
    PROGRAM = ""      # in tests/servers
    ENVIRONMENT = ""  # the variable that names its interpreter

    @classmethod
    def setUpClass(cls):
        interpreter = os.environ.get(cls.ENVIRONMENT, "")
        if not interpreter or not pathlib.Path(interpreter).exists():
            raise unittest.SkipTest(f"{cls.ENVIRONMENT}: not set up, see tools/setup --help (--servers)")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="assay server "))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.server = Server(interpreter, SERVERS / cls.PROGRAM, folder)
        cls.addClassCleanup(cls.server.end)

    def root_with(self, **overrides):
        """The task with other settings."""
        root = self.temp / "root"
        (root / "workloads").mkdir(parents=True)
        for part in ("model_zoo", "datasets", "python"):
            (root / part).symlink_to(ROOT / part)
        workload = json.loads((ROOT / "workloads" / f"{MODEL_NAME}.json").read_text())
        workload.update(overrides)
        workload.pop("$schema")
        (root / "workloads" / f"{MODEL_NAME}.json").write_text(json.dumps(workload))
        return str(root)

    def run_task(self, *options, arguments=(), **overrides):
        settings = [word for option in (f"url={self.server.url}", *options)
                    for word in ("--set", option)]
        return self.run_assay("--task", MODEL_NAME, "--hardware_type", "KSERVE", "--iterations", "2",
                              *arguments, *settings, ASSAY_ROOT=self.root_with(**overrides))

    def assert_same_answers(self, run):
        """Everything that the CPU backend, which is the reference, answers."""
        self.assert_complete(run)
        self.assertEqual(run.code, 0, run.out + run.err)
        outcomes = {c["name"]: c["outcome"] for c in run.result["criteria"]}
        self.assertEqual(outcomes["numeric"], "pass", run.result["criteria"])
        accuracy = run.result["accuracy"]
        self.assertEqual((accuracy["metric"], accuracy["n"]), ("top1", 10000))
        self.assertEqual(round(accuracy["value"], 4), 0.9251)

    def assert_transport(self, run, words):
        self.assertIn(f"tensors as {words};", " ".join(run.result["notes"]))

    def assert_remote_and_inseparable(self, run):
        notes = " ".join(run.result["notes"])
        self.assertIn("not this host's", notes)
        self.assertIn("network not separable", notes)

    def assert_every_measurement(self, run):
        self.assert_complete(run)
        outcomes = {c["name"]: c["outcome"] for c in run.result["criteria"]}
        self.assertEqual(outcomes["stability"], "pass", run.result["criteria"])
        self.assertTrue(run.result["performance"])
        for row in run.result["performance"]:  # whether the machine was quiet is not looked at
            self.assertEqual(row["failures"], 0)
            self.assertGreater(row["samples"], 0)
        self.assert_remote_and_inseparable(run)


class MlserverOnLoopback(ServerCase):
    """JSON alone; declares neither inputs nor outputs."""
    PROGRAM = "mlserver_onnx.py"
    ENVIRONMENT = "ASSAY_MLSERVER_PYTHON"

    def test_accuracy_and_values_are_the_references(self):
        run = self.run_task(test_perf=False, test_stability=False)
        self.assert_same_answers(run)
        self.assert_remote_and_inseparable(run)
        self.assert_transport(run, "JSON")

    def test_every_measurement(self):
        self.assert_every_measurement(self.run_task("instances=2", arguments=("--quick",)))

    def test_bytes_that_it_does_not_take_are_refused(self):
        run = self.run_task("transport=binary", test_perf=False, test_stability=False)
        self.assertNotEqual(run.phase("compile")["outcome"], "ok")
        self.assertRegex(run.phase("compile")["reason"], "infer: HTTP [45][0-9][0-9]")


class KserveOnLoopback(ServerCase):
    """JSON and bytes; declares both ends of the model, and no extension for the bytes."""
    PROGRAM = "kserve_onnx.py"
    ENVIRONMENT = "ASSAY_KSERVE_PYTHON"

    def test_in_bytes(self):
        run = self.run_task(test_perf=False, test_stability=False)
        self.assert_same_answers(run)
        self.assert_transport(run, "bytes")

    def test_in_json(self):
        self.assert_same_answers(self.run_task("transport=json", test_perf=False,
                                               test_stability=False))

    def test_every_measurement(self):
        self.assert_every_measurement(self.run_task(arguments=("--quick",)))


class ContractOfTheBackend(Case):
    def test_the_suite_passes_on_a_server_of_its_model(self):
        server = Server(sys.executable, SERVERS / "own_model.py", self.temp)
        self.addCleanup(server.end)
        run = self.assay("check-backend", "KSERVE", "--quick", "--json", "--set",
                         f"url={server.url}", HOME=str(self.temp))
        checks = json.loads(run.stdout)["checks"]
        named = {outcome: {check["name"] for check in checks if check["outcome"] == outcome}
                 for outcome in ("failed", "skipped", "not_supported", "passed")}
        self.assertEqual((run.returncode, named["failed"], named["skipped"]), (0, set(), set()))
        # The suite's own models are files, which no server of somebody else takes from us.
        self.assertEqual({name.split(".")[0] for name in named["not_supported"]},
                         {"dtype", "rank", "empty", "big", "compile", "async", "segments"})
        self.assertIn("answers", named["passed"])


class NobodyThere(Case):
    def test_a_url_without_a_server_is_named(self):
        # Port 1 of this machine: nothing listens there, and nobody but root could.
        run = self.run_assay("--task", MODEL_NAME, "--hardware_type", "KSERVE", "--quick",
                             "--set", "url=http://127.0.0.1:1")
        self.assert_complete(run)
        self.assertNotEqual(run.code, 0)
        self.assertIn("http://127.0.0.1:1", json.dumps(run.phase("compile")))


if __name__ == "__main__":
    unittest.main()

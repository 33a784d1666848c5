"""Runs the program as a user does and reads what it leaves."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ.get("ASSAY_PROGRAM", "assay")
TEST_BACKENDS = os.environ.get("ASSAY_TEST_BACKENDS", "")
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "data" / "models"

# Enough to be measured, little enough for a test: figures are not looked at here.
SHORT = ["--iterations", "2", "--quick"]


class Run:
    """One finished run: exit code, output, and the result where there is one."""

    def __init__(self, process, folder):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.folder = folder
        try:
            text = (folder / "result.json").read_text()
        except OSError:
            text = None
        self.result = text and json.loads(text, parse_constant=self.refuse)

    @staticmethod
    def refuse(token):
        raise AssertionError(f"result.json holds a bare {token}")

    def phase(self, name):
        return [p for p in self.result["phases"] if p["name"] == name][0]


def workers_of(pid):
    """Workers that the run with this process id has started and that live, by the name of their
    log: "probe", "performance-b1-r0"."""
    found = {}
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return found
    for child in children:
        try:
            if "assay-worker" in pathlib.Path(f"/proc/{child}/cmdline").read_text():
                found[pathlib.Path(os.readlink(f"/proc/{child}/fd/1")).stem] = int(child)
        except OSError:
            continue
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.temp = pathlib.Path(tempfile.mkdtemp(prefix="assay e2e ä "))
        self.addCleanup(shutil.rmtree, self.temp, ignore_errors=True)
        self.folder = self.temp / "run"

    def environment(self, **more):
        inherited = {name: value for name, value in os.environ.items() if name != "ASSAY_FAULT"}
        return {**inherited, "ASSAY_BACKENDS": TEST_BACKENDS, **more}

    def assay(self, *arguments, cwd=None, **environment):
        return subprocess.run([ASSAY, *map(str, arguments)], capture_output=True, text=True,
                              env=self.environment(**environment), cwd=cwd or self.temp, timeout=600)

    def start_assay(self, *arguments, folder=None, **environment):
        """A run that goes on while the test looks at it; end_of() waits for it."""
        process = subprocess.Popen([ASSAY, "run", "--output", str(folder or self.folder), *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(**environment), cwd=self.temp)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end_of(self, process, folder=None):
        out, err = process.communicate(timeout=300)
        return Run(subprocess.CompletedProcess(process.args, process.returncode, out, err),
                   folder or self.folder)

    def wait_for_worker(self, process, name):
        """The process id of the run's worker for a phase, as soon as there is one."""
        while process.poll() is None:
            worker = workers_of(process.pid).get(name)
            if worker:
                return worker
            time.sleep(0.001)
        self.fail(f"the run ended before {name} began")

    def run_assay(self, *arguments, folder=None, **environment):
        folder = folder or self.folder
        return Run(self.assay("run", "--output", folder, *arguments, **environment), folder)

    def assert_refused(self, run, *words):
        """Bad input: exit code 2, one message with these words, nothing left behind."""
        self.assertEqual(run.code, 2, run.err + run.out)
        for word in words:
            self.assertIn(word, run.err)
        self.assertFalse(run.folder.exists(), "a half-made output is left")

    def assert_complete(self, run):
        """Whatever happened, both reports are there and agree with the exit code."""
        self.assertIsNotNone(run.result, run.err + run.out)
        self.assertEqual(run.result["exit_code"], run.code)
        page = (run.folder / "report.html").read_text()
        self.assertIn("<html", page)

"""Runs the program as a user does and reads what it leaves."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
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
        path = folder / "result.json"
        self.result = json.loads(path.read_text(), parse_constant=self.refuse) \
            if path.exists() else None

    @staticmethod
    def refuse(token):
        raise AssertionError(f"result.json holds a bare {token}")

    def phase(self, name):
        return [p for p in self.result["phases"] if p["name"] == name][0]


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

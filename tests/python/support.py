"""Drives assay_host.bridge as the worker does: a process per backend, bytes lent for each call.

An interpreter holds one backend for its life, so each test script runs in a process of its own: it
builds the calls as Python text, runs them with `bridge` and `host` at hand, and reads one JSON answer.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
BACKENDS = ROOT / "tests" / "backends_python"

CONFIGS = {
    "workload": {"model": "fashion", "test_perf": True, "test_accuracy": True, "test_numeric": True,
                 "clients": 1, "iterations": 5, "batch_sizes": [1, 4], "data_percent": 100,
                 "compile_only": False},
    "model_info": {"model": "fashion", "name": "fashion", "model_path": "/models/fashion.onnx",
                   "framework": "Onnx", "framework_version": "", "model_format": "onnx",
                   "model_precision": "FP32", "inputs": "input", "outputs": "logits",
                   "input_shape": {"input": [1, 1, 28, 28]}, "input_type": "FLOAT32",
                   "dataset_name": "fashion-mnist", "batch_axes": {"input": 0}, "max_batch_size": 64},
    "interact_info": {},
}

PROLOGUE = """
import json, os, sys
sys.path.insert(0, {tests!r})
import driver
host = driver.Host({configs}, {artifact!r})
from assay_host import bridge
answer = {{}}
"""
EPILOGUE = """
print("ANSWER " + json.dumps(answer))
"""


def place(backend, file, text):
    """"file.py:12": where `text` stands in a file of a test backend."""
    lines = (BACKENDS / backend / file).read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if text in line]
    assert len(found) == 1, (file, text, found)
    return "{}:{}".format(file, found[0])


class Outcome:
    """How a script ended, and what it put into `answer`."""

    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        lines = [line for line in self.out.splitlines() if line.startswith("ANSWER ")]
        self.answer = json.loads(lines[-1][len("ANSWER "):]) if lines else None


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temp = tempfile.TemporaryDirectory(prefix="assay python ä ")
        self.addCleanup(temp.cleanup)
        self.temp = pathlib.Path(temp.name)
        self.artifact = self.temp / "artifact"
        self.artifact.mkdir()
        self.processes = 0

    def run_script(self, script, backend="GUIDE", stubs="", configs=None, folder=None, scratch=None):
        """Runs `script` in a process that has `backend` to open; a fresh scratch folder each time."""
        self.processes += 1
        scratch = pathlib.Path(scratch or self.temp / "scratch{}".format(self.processes))
        scratch.mkdir(exist_ok=True)
        text = PROLOGUE.format(tests=str(pathlib.Path(__file__).parent), artifact=str(self.artifact),
                               configs=repr(configs or CONFIGS))
        text += textwrap.dedent(script) + EPILOGUE
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "ASSAY_PYTHON_SCRATCH": str(scratch),
                       "ASSAY_PYTHON_BACKEND": str(folder or BACKENDS / backend),
                       "ASSAY_PYTHON_HARDWARE": backend, "ASSAY_PYTHON_STUBS": stubs}
        process = subprocess.run([sys.executable, "-B", "-c", text], env=environment, capture_output=True,
                                 text=True, timeout=120, cwd=str(self.temp), check=False)
        return Outcome(process)

    def answer_of(self, script, **options):
        outcome = self.run_script(script, **options)
        self.assertEqual(outcome.code, 0, outcome.err[-3000:])
        self.assertIsNotNone(outcome.answer, outcome.out)
        return outcome.answer

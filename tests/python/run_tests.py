#!/usr/bin/env python3
"""Runs the tests of one module, or all, with a Python that has NumPy: this one, or ASSAY_ORACLE_PYTHON.

usage: run_tests.py [MODULE...]

Exits with 77, which skips the test, when neither has it. With NumPy at hand the usual way works too:
python3 -B -m unittest discover -p '*_test.py'."""
import importlib.util
import os
import sys
import unittest

PYTHON = os.environ.get("ASSAY_ORACLE_PYTHON", "")


def main():
    if importlib.util.find_spec("numpy") is None:
        if os.path.exists(PYTHON) and os.environ.get("ASSAY_ORACLE_TRIED") is None:
            os.environ["ASSAY_ORACLE_TRIED"] = "1"
            os.execv(PYTHON, [PYTHON, "-B", *sys.argv])
        print("skipped: NumPy is missing; tools/setup --test brings it")
        sys.exit(77)
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, folder)
    loader = unittest.defaultTestLoader
    names = sys.argv[1:]
    tests = loader.loadTestsFromNames(names) if names else loader.discover(folder, "*_test.py")
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful())


if __name__ == "__main__":
    main()

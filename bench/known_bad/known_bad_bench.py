#!/usr/bin/env python3
"""Are the known-bad deployments named, and is nothing else? Runs FetchedPipeline of
tests/e2e/pipeline_test.py: three models, their wrong pipelines and 20 legitimate variants. The first
ratio is the share that is named, the second the share that is flagged. Takes about ten minutes."""
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
from contextlib import redirect_stdout

BUILD = pathlib.Path(__file__).resolve().parent.parent
ASSAY = BUILD / "bin" / "assay"
HOST = json.loads(subprocess.run([ASSAY, "env", "--json"], capture_output=True, text=True,
                                 check=True).stdout)
os.environ["ASSAY_PROGRAM"] = str(ASSAY)
os.environ["ASSAY_TEST_BACKENDS"] = str(BUILD / "test_backends")
sys.path.insert(0, str(pathlib.Path(HOST["assay"]["root"]) / "tests" / "e2e"))
sys.dont_write_bytecode = True


def shares(text, words):
    """The sums of "N of M" over the lines that end with these words."""
    found = re.findall(rf"(\d+) of (\d+) {words}", text)
    return sum(int(n) for n, _ in found), sum(int(m) for _, m in found)


def main():
    said = io.StringIO()
    suite = unittest.defaultTestLoader.loadTestsFromName("pipeline_test.FetchedPipeline")
    with redirect_stdout(said):
        result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    named, bad = shares(said.getvalue(), "named")
    kept, variants = shares(said.getvalue(), "not flagged")
    if not bad or not variants:
        sys.exit("known_bad_bench: a part of it did not run to its end")
    print(f"known_bad ratio {named / bad:.3f} goal >= 1 ({named} of {bad} named)")
    print(f"known_bad_variants ratio {1 - kept / variants:.3f} goal <= 0 "
          f"({variants - kept} of {variants} flagged)")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()

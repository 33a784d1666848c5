#!/usr/bin/env python3
"""What Assay itself costs in a run: the wall time of a second Fashion-MNIST run, less the time inside
the backend, warm-up and the configured measurement; as a ratio to two seconds."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ASSAY = pathlib.Path(__file__).resolve().parent / "assay"
BUDGET_S = 2.0
RUNS = 3


def own_seconds(folder, wall_s):
    """`wall_s` is the process's whole life: start, reports and all."""
    result = json.loads((folder / "result.json").read_text())
    spent = result["compile"]["measured"]["wall_ns"]
    spent += result["provenance"]["backend"]["accuracy_pass"]["backend_ns"]
    # The stability matrix is configured measurement, as the rows are.
    spent += sum(phase["wall_ns"] for phase in result["phases"] if phase["name"] == "stability")
    for row in result["performance"]:
        spent += sum(row["time"].values())
    return wall_s - spent / 1e9


def main():
    figures = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(RUNS + 1):
            folder = pathlib.Path(scratch) / str(number)
            start = time.monotonic()
            run = subprocess.run([ASSAY, "run", "--task", "fashion-mnist-cnn-onnx-fp32",
                                  "--hardware_type", "CPU", "--output", folder],
                                 capture_output=True, text=True, check=False)
            wall_s = time.monotonic() - start
            if run.returncode not in (0, 1):
                sys.exit(f"startup_bench: {run.stderr or run.stdout}")
            if number > 0:  # the first one makes the reference
                figures.append(own_seconds(folder, wall_s))
    print(f"startup ratio {statistics.median(figures) / BUDGET_S:.3f} goal <= 1")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Does the stability matrix's memory grow with the number of calls? The worker's peak over 1,000,000 calls
of the Fashion-MNIST CNN less that over 1,000, as a ratio to 2 MiB."""
import json
import pathlib
import subprocess
import sys
import tempfile

ASSAY = pathlib.Path(__file__).resolve().parent / "assay"
BUDGET_BYTES = 2 << 20
CALLS = (1_000, 1_000_000)


def peak_bytes(calls, folder):
    run = subprocess.run([ASSAY, "run", "--task", "fashion-mnist-cnn-onnx-fp32", "--hardware_type",
                          "CPU", "--quick", "--iterations", "5", "--batch_sizes", "1",
                          "--stability", f"repeat={calls}", "--output", folder],
                         capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"stability_memory_bench: {run.stderr or run.stdout}")
    result = json.loads((folder / "result.json").read_text())
    made = [axis["calls"] for axis in result["stability"] if axis["axis"] == "repeat"]
    if made != [calls]:
        sys.exit(f"stability_memory_bench: {made} calls were made, {calls} wanted")
    peaks = [phase["peak_rss_bytes"] for phase in result["phases"] if phase["name"] == "stability"]
    return peaks[0]


def main():
    with tempfile.TemporaryDirectory() as scratch:
        few, many = (peak_bytes(calls, pathlib.Path(scratch) / str(calls)) for calls in CALLS)
    print(f"stability_memory ratio {(many - few) / BUDGET_BYTES:.3f} goal <= 1 "
          f"({few} bytes over {CALLS[0]:,} calls, {many} over {CALLS[1]:,})")


if __name__ == "__main__":
    main()

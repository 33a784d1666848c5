#!/usr/bin/env python3
"""Is a healthy backend ever called unstable? The stability matrix at `quick` on the CPU backend, over
every task, with another seed and other options in each run. The ratio is the share of runs that accuse.
Takes about an hour on two cores; `ASSAY_CLEAN_RUNS=0.1` makes a tenth of the runs.

A line for each task goes to standard error; what an accusing run said does too."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ASSAY = pathlib.Path(__file__).resolve().parent / "assay"
# 304 in all; few where a call takes long.
RUNS = {"wide-deep-adult-onnx-fp32": 100, "fashion-mnist-cnn-onnx-fp32": 80,
        "fashion-mnist-cnn-onnx-int8": 80, "efficientnet-lite0-onnx-fp32": 12,
        "efficientnet-lite0-onnx-int8": 12, "minilm-sentiment-onnx-w8": 12,
        "resnet50-onnx-fp32": 8}
OPTIONS = ([], ["intra_op_threads=1"], ["intra_op_threads=2"], ["graph_optimization=basic"],
           ["execution_mode=parallel"], ["graph_optimization=none"])
PARTS = ("test_perf", "test_accuracy", "test_numeric")


def installation(scratch):
    """The installation's folders, with workloads that ask for nothing but stability."""
    asked = subprocess.run([ASSAY, "env", "--json"], capture_output=True, text=True, check=True)
    root = pathlib.Path(json.loads(asked.stdout)["assay"]["root"])
    for entry in root.iterdir():
        if entry.name != "workloads":
            (scratch / entry.name).symlink_to(entry)
    (scratch / "workloads").mkdir()
    for task in RUNS:
        workload = json.loads((root / "workloads" / f"{task}.json").read_text())
        workload.update({part: False for part in PARTS}, test_stability=True, batch_sizes=[1, 4])
        (scratch / "workloads" / f"{task}.json").write_text(json.dumps(workload))
    return {**os.environ, "ASSAY_ROOT": str(scratch)}


def accusations(task, seed, environment, folder):
    """What a run says against the backend."""
    command = [ASSAY, "run", "--task", task, "--hardware_type", "CPU", "--seed", str(seed),
               "--stability", "quick", "--output", folder]
    for option in OPTIONS[seed % len(OPTIONS)]:
        command += ["--set", option]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    result = folder / "result.json"
    if run.returncode not in (0, 1) or not result.exists():
        sys.exit(f"clean_runs_bench: {task}, seed {seed}: {run.stderr or run.stdout}")
    axes = json.loads(result.read_text())["stability"]
    if not any(axis["verdict"] in ("bit_stable", "within_noise_floor") for axis in axes):
        sys.exit(f"clean_runs_bench: {task}, seed {seed}: nothing was tested")
    return [f"{axis['axis']}: {axis['suspected_cause']}, largest difference {axis['max_abs']}"
            for axis in axes if axis["verdict"] == "unstable"]


def main():
    share = float(os.environ.get("ASSAY_CLEAN_RUNS", "1"))
    accused = runs = 0
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "root"
        root.mkdir()
        environment = installation(root)
        for task, wanted in RUNS.items():
            of_task = max(round(wanted * share), 1)
            for seed in range(1, of_task + 1):
                found = accusations(task, seed, environment, pathlib.Path(scratch) / f"{task}-{seed}")
                accused += bool(found)
                for text in found:
                    print(f"{task}, seed {seed}: {text}", file=sys.stderr)
            runs += of_task
            print(f"{task}: {of_task} runs", file=sys.stderr, flush=True)
    print(f"clean_runs ratio {accused / runs:.4f} goal <= 0 ({accused} of {runs} runs accuse)")


if __name__ == "__main__":
    main()

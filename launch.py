#!/usr/bin/env python3
"""Forwards the command line of the published guide to ./assay.

python3 launch.py --task TASK --hardware_type HW [--compile_only] [any option of `assay run`]
python3 launch.py --show_task_list | --show_hardware_list
"""

import argparse
import os
import pathlib
import sys


def assay_arguments(arguments: list[str]) -> list[str]:
    """The arguments of ./assay that do what the guide's arguments ask."""
    parser = argparse.ArgumentParser(
        prog="launch.py", allow_abbrev=False, description="Forwards to ./assay run and ./assay list."
    )
    parser.add_argument("--task", help="a task: workloads/TASK.json")
    parser.add_argument("--hardware_type", help="a backend: backends/HARDWARE_TYPE")
    parser.add_argument("--compile_only", action="store_true", help="stop after compiling")
    parser.add_argument("--show_task_list", action="store_true", help="list the tasks")
    parser.add_argument("--show_hardware_list", action="store_true", help="list the backends")
    known, passed_on = parser.parse_known_args(arguments)
    if known.show_task_list:
        return ["list", "tasks"]
    if known.show_hardware_list:
        return ["list", "backends"]
    forwarded = ["run"]
    if known.task:
        forwarded += ["--task", known.task]
    if known.hardware_type:
        forwarded += ["--hardware_type", known.hardware_type]
    if known.compile_only:
        forwarded += ["--compile_only"]
    return forwarded + passed_on


if __name__ == "__main__":
    program = pathlib.Path(__file__).resolve().parent / "assay"
    os.execv(program, [str(program), *assay_arguments(sys.argv[1:])])

"""The workload of the task that is running."""

import json
import os
from typing import Any, Dict


def load_workload(task: str) -> Dict[str, Any]:
    """The workload file of the running task, for the name of its model."""
    path = os.path.join("general_perf", "workloads", task + ".json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)

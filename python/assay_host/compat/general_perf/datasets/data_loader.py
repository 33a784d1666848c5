"""The base class of published data loaders."""

from typing import Any, Dict, List, Optional

from assay_host.samples import Dataset

__all__ = ["Any", "Dataset", "Dict", "List", "Optional"]

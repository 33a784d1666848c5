"""The base class of published runtime backends."""

from typing import Any, Dict, List, Optional

__all__ = ["Any", "Dict", "List", "Optional", "RuntimeBackend"]


class RuntimeBackend(object):
    """Runs what was compiled. `configs`, `workload` and `model_info` are set before load()."""

    def __init__(self) -> None:
        self.hardware_type = "UnKnown"
        self.need_reload = False
        self.need_quant = False

    def version(self) -> str:
        """The version of the runtime."""
        raise NotImplementedError()

    def load(self, batch_size: int) -> None:
        """Gets ready to predict with batches of this size."""
        raise NotImplementedError()

    def get_loaded_batch_size(self) -> int:
        """The size of the batches that predict takes."""
        raise NotImplementedError()

    def predict(self, data: Any) -> Any:
        """Inputs by name, in the model's order; gives outputs by name or by position."""
        raise NotImplementedError()

    def benchmark(self, dataloader: Any) -> Any:
        """The backend's own figures: {"BS", "QPS", "AVG Latency", "P99 Latency"}, latencies in ms."""
        raise NotImplementedError()

    def is_qs_mode_supported(self) -> bool:
        """Reserved."""
        return False

    def generate_qs_config(self) -> Optional[Dict[str, Any]]:
        """Reserved."""
        return None

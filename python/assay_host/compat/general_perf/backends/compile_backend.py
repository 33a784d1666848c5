"""The base class of published compile backends. Also exports the names of `typing` that published code
takes from here."""

from typing import Any, Dict, List, Optional

__all__ = ["Any", "CompileBackend", "Dict", "List", "Optional"]


class CompileBackend(object):
    """Turns a model into something that the hardware runs. Every method is called at most once a run."""

    def __init__(self) -> None:
        self.hardware_type = "UnKnown"
        self.need_reload = False
        self.need_quant = False

    def version(self) -> str:
        """The version of the compiler."""
        raise NotImplementedError()

    def pre_optimize(self, configs: Dict[str, Any]) -> Dict[str, Any]:
        """May change the model's file; gives the configs to go on with."""
        return configs

    def compile(self, configs: Dict[str, Any], dataloader: Any = None) -> Dict[str, Any]:
        """Compiles; what it returns becomes the runtime's `configs`, as it is."""
        raise NotImplementedError()

    def tuning(self, configs: Dict[str, Any]) -> None:
        """Reserved."""

    def segment(self, configs: Dict[str, Any]) -> None:
        """Called before compile; what it returns is not used."""

    def get_interact_profile(self, config: Dict[str, Any]) -> Optional[List[Dict[str, Any]]]:
        """The questions to ask before compiling."""
        raise NotImplementedError()

    def get_best_batch_size(self) -> Optional[List[int]]:
        """Batch sizes that replace the workload's."""
        raise NotImplementedError()

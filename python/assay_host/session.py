"""One opened backend: the vendor's two objects, called in the order of the published engine."""

import importlib
import inspect
import json
import os
import sys
import uuid
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from assay_host import claims, compiled, errors, jsonable, profile, stubs
from assay_host.configs import Configs
from assay_host.errors import FAILED_PRECONDITION, INTERNAL, NOT_FOUND, BridgeError, call, during
from assay_host.predictor import Predictor, Spec
from assay_host.samples import DataLoader
from assay_host.tree import Tree

Progress = Callable[[float, str], Any]


def optional(backend: Any, method: str, *arguments: Any) -> Tuple[bool, Any]:
    """(offered, what it returned) of a method that a backend may leave out or not implement."""
    function = getattr(backend, method, None)
    if function is None:
        return False, None
    try:
        return True, call(method, function, *arguments)
    except BridgeError as failure:
        if failure.code == errors.UNIMPLEMENTED:
            return False, None
        raise


class Session:
    """The backend of this process."""

    def __init__(self, folder: str, hardware_type: str, scratch: str) -> None:
        self.folder = os.path.abspath(folder)
        self.hardware_type = hardware_type
        self._tree = Tree(os.path.abspath(scratch), self.folder, hardware_type)
        self.configs = Configs(self._tree.place_model)
        self.notes: List[str] = []
        self._environment = dict(os.environ)
        self._live: Dict[str, Any] = {}  # compile infos of this process, by token
        self._done: Set[str] = set()  # the vendor's methods before compile, as they were called
        self._first_text = ""  # the configs before pre_optimize
        self._asked = 1  # the batch size of the last load
        self._predictor: Optional[Predictor] = None
        self.compiler: Any = None
        self.runtime: Any = None

    def note(self, *texts: str) -> None:
        self.notes.extend(text for text in texts if text not in self.notes)

    # ---- open ----

    def open(self) -> None:
        if not os.path.isdir(self.folder):
            raise BridgeError(NOT_FOUND, "{} is no folder".format(self.folder))
        self._tree.make()
        self._tree.enter()
        importlib.import_module("general_perf")
        modules = [self._import(kind) for kind in ("compile", "runtime")]
        made = [call(name + "()", cls) for name, cls in
                (self._class(module, kind) for module, kind in zip(modules, ("Compile", "Runtime")))]
        stubs.set_importing(False)
        for name in stubs.requested():
            if name not in sys.modules:
                self.note('"{}" is stubbed by request (--stub {}), and nothing has imported it'.format(name, name))
        self.compiler, self.runtime = made

    def _import(self, kind: str) -> Any:
        file = "{}_backend_{}".format(kind, self.hardware_type.lower())
        if not os.path.exists(os.path.join(self.folder, file + ".py")):
            raise BridgeError(NOT_FOUND, "{} has no {}.py; it holds {}".format(
                self.folder, file, ", ".join(sorted(os.listdir(self.folder))) or "nothing"))
        name = "general_perf.backends.{}.{}".format(self.hardware_type, file)
        return call("the import of {}.py".format(file), importlib.import_module, name)

    def _class(self, module: Any, kind: str) -> Tuple[str, Any]:
        wanted = "{}Backend{}".format(kind, self.hardware_type)
        classes = {name: cls for name, cls in vars(module).items() if inspect.isclass(cls)}
        if wanted in classes:
            return wanted, classes[wanted]
        near = [name for name in classes if name.lower() == wanted.lower()]
        if len(near) == 1:
            self.note("the class is called {}, {} was expected".format(near[0], wanted))
            return near[0], classes[near[0]]
        own = sorted(name for name, cls in classes.items() if cls.__module__ == module.__name__)
        raise BridgeError(NOT_FOUND, "{} has no class {}; it has {}".format(
            os.path.basename(module.__file__), wanted, ", ".join(own) or "none"))

    def traits(self) -> Tuple[str, bool, bool]:
        said = getattr(self.compiler, "hardware_type", None)
        if said not in (None, "UnKnown", self.hardware_type):
            self.note('the backend calls itself "{}", its folder is {}'.format(said, self.hardware_type))
        return (self.hardware_type, bool(getattr(self.compiler, "need_reload", False)),
                bool(getattr(self.compiler, "need_quant", False)))

    # ---- before compile ----

    def adopt(self, configs_json: str) -> None:
        self.configs.adopt(configs_json)
        self._tree.write_inputs(self.configs.workload, self.configs.model_info)

    def interact_profile(self, configs_json: str) -> str:
        self.adopt(configs_json)
        self._done.add("get_interact_profile")
        try:
            offered, returned = optional(self.compiler, "get_interact_profile", self.configs.before_questions())
        except json.JSONDecodeError as failure:
            if failure.doc.strip():
                raise
            self.note("get_interact_profile reads an empty file: no questions")
            return ""
        if not offered:
            return ""
        questions, settings, notes = profile.normalise(returned)
        self.configs.set_settings(settings)
        self.note(*notes)
        return jsonable.dump(questions) if questions or settings else ""

    def pre_optimize(self, configs_json: str, folder: str) -> Optional[str]:
        self.adopt(configs_json)
        if "get_interact_profile" not in self._done:  # published code reads its settings there
            self.interact_profile(configs_json)
        self._done.add("pre_optimize")
        before = json.loads(self.configs.text())
        self._first_text = configs_json
        offered, returned = optional(self.compiler, "pre_optimize", self.configs.current())
        if not offered:
            return None
        if not isinstance(returned, dict):
            self.note("pre_optimize returned {}: the configs stay as they are".format(
                "nothing" if returned is None else type(returned).__name__))
            returned = self.configs.current()
        text = self.configs.replace(returned)
        changed = json.loads(text) != before
        start = json.loads(configs_json)
        self._tree.remember(start, json.loads(text) if changed else start)
        return text if changed else None

    def _segment(self) -> None:
        if "segment" not in self._done:
            self._done.add("segment")
            optional(self.compiler, "segment", self.configs.current())

    def _prepare(self, configs_json: str) -> None:
        """What comes before compile, as far as this process has not done it: other phases may have run
        in another worker, and published code keeps what it learns there in its objects."""
        if "pre_optimize" not in self._done:
            start = self._tree.before_pre_optimize(json.loads(configs_json))
            self.pre_optimize(configs_json if start is None else json.dumps(start), "")
        self._segment()
        if "get_best_batch_size" not in self._done:
            self.best_batch_size()

    def best_batch_size(self) -> Optional[List[int]]:
        if "pre_optimize" not in self._done:  # in another worker, then
            start = self._tree.before_pre_optimize()
            if start is not None:
                self.pre_optimize(json.dumps(start), "")
        self._segment()
        self._done.add("get_best_batch_size")
        offered, returned = optional(self.compiler, "get_best_batch_size")
        if not offered or returned is None:
            return None
        if isinstance(returned, (list, tuple)):
            sizes = [int(size) for size in returned]
        else:
            sizes = [int(returned)]
            self.note("get_best_batch_size returned the number {0}: taken for [{0}], where the published"
                      " engine ignores it".format(sizes[0]))
        if sizes:
            self.configs.set_batch_sizes(sizes)
        return sizes or None

    # ---- compile ----

    def compile(self, configs_json: str, artifact_folder: str, loader: Any, progress: Progress) -> str:
        progress(-1.0, "compile")
        self._prepare(configs_json)
        self.adopt(configs_json)
        info = self._compile(loader)
        notes: List[str] = []
        result = compiled.normalise(info, notes, self.configs.places)
        token = uuid.uuid4().hex  # tells this compilation from every other, of any process
        self._live[token] = info
        reason = compiled.Saved(artifact_folder).write(token, self._first_text, {
            "compile_info": info, "workload": self.configs.workload, "model_info": self.configs.model_info,
            "environment": self._changed_environment(), "root": self._tree.root})
        if reason is not None:
            result["live"] = True
            notes.append("the compile result lives in its process only ({})".format(reason))
        self.note(*notes)
        return jsonable.dump(result)

    def _compile(self, loader: Any) -> Any:
        dataset = DataLoader(self.configs.model_info, loader)
        dataset.preprocess()
        try:
            return call("compile", self.compiler.compile, self.configs.current(), dataset)
        finally:
            dataset.end()

    def _changed_environment(self) -> Dict[str, str]:
        """What the backend has set since it was opened: predict in another process needs it too."""
        return {name: value for name, value in os.environ.items() if self._environment.get(name) != value
                and name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}

    def version(self) -> str:
        for backend in (self.runtime, self.compiler):
            offered, returned = optional(backend, "version")
            if offered and returned is not None:
                return str(returned)
        self.note("the backend says no version")
        return ""

    # ---- load ----

    def load(self, configs_json: str, artifact_folder: str, batch_size: int) -> None:
        self.adopt(configs_json)
        self._predictor = None
        saved = compiled.Saved(artifact_folder)
        token = saved.state().get("token")
        if token in self._live:
            return self._load(self._live[token], batch_size)
        if saved.has_pickle():
            try:
                return self._load(self._thaw(saved), batch_size)
            except Exception as failure:
                code, message = errors.describe(failure)
                self.note("the compile result of another process does not load here: " + message)
        self._recompile(saved)
        return self._load(self._live[saved.state()["token"]], batch_size)

    def _thaw(self, saved: compiled.Saved) -> Any:
        """The objects of the process that compiled, still the same objects among one another."""
        bundle = saved.unpickle()
        os.environ.update(bundle["environment"])
        self._tree.take_over(bundle["root"])
        self.configs.share(bundle["workload"], bundle["model_info"])
        return bundle["compile_info"]

    def _recompile(self, saved: compiled.Saved) -> None:
        """The whole sequence again, from the configs that it started from."""
        state = saved.state()
        if not state:
            raise BridgeError(FAILED_PRECONDITION, "the artifact holds no {}: it was not made by this"
                              " backend's compile".format(compiled.STATE))
        self.note("compiled again in this process, because the compile result lives in its process only")
        self.configs = Configs(self._tree.place_model)
        self._done.clear()
        start = json.dumps(state["configs"])
        self.pre_optimize(start, "")
        self._prepare(start)
        self._live[state["token"]] = self._compile(None)

    def _load(self, compile_info: Any, batch_size: int) -> None:
        runtime = self.runtime
        runtime.configs = compile_info
        runtime.workload = self.configs.workload
        runtime.model_info = self.configs.model_info
        call("load", runtime.load, batch_size)
        self._asked = batch_size
        loaded = self.loaded_batch_size()
        predictor = Predictor(runtime.predict, self.configs.model_info, loaded)
        try:
            self.note(*predictor.learn())
        except Exception as failure:
            raise during("predict, called once on generated inputs", failure)
        self._predictor = predictor

    def loaded_batch_size(self) -> int:
        offered, returned = optional(self.runtime, "get_loaded_batch_size")
        if not offered or returned is None:
            return self._asked
        try:
            size = int(returned)
        except (TypeError, ValueError):
            size = 0
        if size < 1:
            raise BridgeError(INTERNAL, "get_loaded_batch_size returned {!r}, wants a batch size".format(returned))
        if size != self._asked:
            self.note("batches of {} were asked for, the backend has loaded {}".format(self._asked, size))
        return size

    @property
    def predictor(self) -> Predictor:
        if self._predictor is None:
            raise BridgeError(FAILED_PRECONDITION, "nothing is loaded")
        return self._predictor

    def signature(self) -> Tuple[List[Spec], List[Spec]]:
        return self.predictor.inputs, self.predictor.outputs

    def benchmark(self, loader: Any) -> Optional[str]:
        size = self.loaded_batch_size()
        dataset = DataLoader(self.configs.model_info, loader)
        dataset.preprocess()
        dataset.rebatch(size)
        try:
            offered, returned = optional(self.runtime, "benchmark", dataset)
        except Exception as failure:  # its own stopwatch is no part of what Assay measures
            self.note("the backend's benchmark fails, so there is no claim: " + errors.describe(failure)[1])
            return None
        finally:
            dataset.end()
        if not offered:
            return None
        if returned is None:
            self.note("benchmark returned None: no claim")
            return None
        return jsonable.dump(claims.claims_of(returned, size))

    def close(self) -> None:
        self._predictor = None
        self._live.clear()

"""The worker's side of the seam, in Python: what the bridge plugin does in C++."""
import ctypes
import json
import os

import numpy as np

NUMPY = {1: np.float64, 2: np.float32, 3: np.float16, 4: np.uint16, 6: np.int64, 7: np.int32, 8: np.int16,
         9: np.int8, 10: np.uint8, 11: np.bool_}


def weights():
    """Of the test backends' linear model."""
    return np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28


def images(count, seed=3):
    return np.random.RandomState(seed).random_sample((count, 1, 28, 28)).astype(np.float32)


def logits(batch):
    return batch.reshape(len(batch), -1) @ weights()


class Loader:
    """Samples as the worker lends them: raw bytes, in the signature's order."""

    def __init__(self, count=10):
        self.data = images(count)
        self.size = count
        self.disjoint = True
        self.specs = [("input", 2, (-1, 1, 28, 28))]

    def read(self, first, count):
        if first + count > self.size:
            raise IndexError("past the end")
        return (memoryview(bytearray(self.data[first:first + count].tobytes())).toreadonly(),)


class Host:
    """Calls the bridge in the worker's order; `configs` is what the controller would pass."""

    def __init__(self, configs, artifact):
        self.configs = configs
        self.artifact = artifact
        self.result = "{}"
        self.stages = []

    @property
    def text(self):
        return json.dumps(self.configs)

    @property
    def bridge(self):
        from assay_host import bridge
        return bridge

    def open(self):
        self.bridge.open(os.environ["ASSAY_PYTHON_BACKEND"], os.environ["ASSAY_PYTHON_HARDWARE"])

    def prepare(self):
        """Until before compile."""
        self.open()
        self.profile = self.bridge.interact_profile(self.text)
        changed = self.bridge.pre_optimize(self.text, self.artifact)
        if changed is not None:
            self.configs = json.loads(changed)
        self.best = self.bridge.best_batch_size()
        if self.best:
            self.configs["workload"]["batch_sizes"] = self.best
        return changed

    def compile(self, loader=None):
        self.result = self.bridge.compile(self.text, self.artifact, loader or Loader(),
                                          lambda done, stage: self.stages.append((done, stage)))
        return json.loads(self.result)

    def load(self, batch_size):
        self.bridge.load(self.text, self.result, self.artifact, batch_size)

    def all(self, batch_size=4):
        self.prepare()
        self.compile()
        self.load(batch_size)

    def predict(self, *arrays):
        """The outputs as arrays, copied out of the memory that predict names."""
        views = tuple(memoryview(array.tobytes()) for array in arrays)
        found = []
        for address, nbytes, code, shape in self.bridge.predict(views):
            raw = ctypes.string_at(address, nbytes)
            found.append(np.frombuffer(raw, NUMPY[code]).reshape(shape))
        return found

    def failure(self, function, *arguments):
        """[code, message] of what `function` raises; None when it does not."""
        try:
            function(*arguments)
        except BaseException as failure:
            return list(self.bridge.describe(failure))
        return None

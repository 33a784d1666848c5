import sys

import numpy as np

from general_perf.backends import runtime_backend


class RuntimeBackendFAULTY(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.calls = 0
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28
        if self.configs["fault"] == "load_raises":
            raise RuntimeError("no device")

    def get_loaded_batch_size(self):
        return 0 if self.configs["fault"] == "loaded_zero" else self.batch_size

    def predict(self, data):
        """Goes wrong from the second call on, so that the first one, which learns the outputs, is good."""
        self.calls += 1
        logits = data["input"].reshape(self.batch_size, -1) @ self.weights
        fault = self.configs["fault"]
        if fault == "fails_at_once":
            raise ValueError("no queue")
        if self.calls == 1 or fault == "none":
            if fault == "keeps":
                self.kept = data["input"]
            return {"logits": logits}
        if fault == "exits":
            sys.exit(3)
        if fault == "odd_text":
            raise ValueError("\udcff\0 end")
        if fault == "interrupts":
            raise KeyboardInterrupt
        if fault == "writes":
            data["input"][0] = 0
        return {"returns_none": None, "few": [], "many": [logits, logits], "none_inside": {"logits": None},
                "other_name": {"scores": logits}, "object": {"logits": np.array([logits, None], object)},
                "complex": {"logits": logits.astype(np.complex64)}, "word": "logits",
                "ragged": {"logits": [[1.0], [1.0, 2.0]]}}[fault] if fault != "fails" else self.fail()

    def fail(self):
        raise ValueError("the queue is broken")

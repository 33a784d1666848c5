import numpy as np


class RuntimeBackendPOSITIONS:
    calls = 0

    def load(self, batch_size):
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def predict(self, data):
        """Under a name of its own, transposed in memory, in the other byte order."""
        (images,) = data.values()
        logits = (self.weights.T @ images.reshape(len(images), -1).T).T
        return {"Identity:0": logits.astype(">f4", order="F")}

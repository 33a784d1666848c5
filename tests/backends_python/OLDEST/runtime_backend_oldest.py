import numpy as np
from backends import runtime_backend
from datasets.data_loader import Dataset


class RuntimeBackendOLDEST(runtime_backend.RuntimeBackend):
    def load(self, batch_size):
        self.batch_size = batch_size
        self.weights = np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

    def get_loaded_batch_size(self):
        return self.batch_size

    def predict(self, data):
        return data["input"].reshape(self.batch_size, -1) @ self.weights

    def benchmark(self, dataloader):
        if not isinstance(dataloader, Dataset):
            raise TypeError("the loader is no Dataset")
        dataloader.rebatch(self.batch_size)
        feeds, labels = dataloader.get_samples(0)
        self.predict(feeds)
        return {"BS": self.batch_size, "QPS": len(labels), "AVG Latency": 1000.0, "P99 Latency": 1000.0}

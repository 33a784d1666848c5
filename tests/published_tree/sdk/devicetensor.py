"""Stands in for a framework whose tensors live on a device: no array protocol until they come back."""
import numpy as np


class Tensor:
    def __init__(self, array, device="card:0", layout="dense.strided"):
        self._array, self.device, self.layout = array, device, layout
        self.dtype, self.shape = "device." + str(array.dtype), array.shape

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self._array, "cpu", self.layout)

    def to_dense(self):
        return Tensor(self._array, self.device)

    def numpy(self):
        if self.device != "cpu" or "sparse" in self.layout:
            raise TypeError("the tensor is on {} and {}".format(self.device, self.layout))
        return self._array


def tensor(data):
    return Tensor(np.array(data))

"""Tensors as a device's framework has them: the numbers are on the host only after cpu()."""
import numpy as np


class Tensor:
    pending = 0  # kernels that nobody has waited for

    def __init__(self, array, device="dev:0", grad=True):
        self.array, self.device, self.grad = array, device, grad
        self.dtype, self.shape = "float32", array.shape

    def detach(self):
        return Tensor(self.array, self.device, False)

    def cpu(self):
        Tensor.pending = 0  # a copy to the host waits for the device
        return Tensor(self.array, "cpu", self.grad)

    def numpy(self):
        if self.device != "cpu" or self.grad:
            raise TypeError("can't convert a tensor of {} with grad={}".format(self.device, self.grad))
        return np.asarray(self.array)


def launch(array):
    Tensor.pending += 1
    return Tensor(array)

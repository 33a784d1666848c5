"""Found because the backend's own folder is on the path."""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def make_weights():
    return np.random.RandomState(7).standard_normal((784, 10)).astype(np.float32) / 28

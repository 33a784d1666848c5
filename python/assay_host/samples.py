"""The data loader object that published backends get, over the samples that Assay reads."""

from collections.abc import Sequence
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from assay_host import dtypes
from assay_host.errors import DATA_LOSS, FAILED_PRECONDITION, BridgeError

FAKE_NAME = "fake_dataset"
FAKE_BATCHES = 100


def names_in(text: Any) -> List[str]:
    """Names of a comma-separated text or a list; a trailing comma adds none."""
    parts = text.split(",") if isinstance(text, str) else list(text or [])
    return [str(part).strip() for part in parts if str(part).strip()]


def batch_axis(info: Dict[str, Any], name: str) -> Optional[int]:
    """Which dimension of the input grows with the batch; None for none."""
    axes = info.get("batch_axes")
    if isinstance(axes, dict) and name in axes:
        return None if axes[name] is None else int(axes[name])
    return 0


def bound(dim: int) -> int:
    """A dimension where a free one, which is negative, is taken for one."""
    return 1 if dim < 0 else dim


def batched_shape(info: Dict[str, Any], name: str, batch_size: int) -> Tuple[int, ...]:
    """The shape of an input of model info at this batch size; -1 is free."""
    shape = [int(dim) for dim in info["input_shape"][name]]
    axis = batch_axis(info, name)
    if axis is not None and axis < len(shape):
        shape[axis] = bound(shape[axis]) * batch_size
    return tuple(shape)


def fake_feeds(batch_size: int, shape: Dict[str, Any], input_type: Any,
               seed: int = 0) -> Dict[str, "np.ndarray[Any, Any]"]:
    """Generated inputs by name. Integers are 0 or 1, which index any table; a mask is all ones."""
    random = np.random.RandomState(seed)
    types = names_in(input_type)
    feeds = {}
    for position, (name, dims) in enumerate(shape.items()):
        code = dtypes.code_of_name(types[position] if position < len(types) else "FLOAT32", name)
        sizes = [bound(int(dim)) for dim in dims]
        if sizes:
            sizes[0] *= batch_size
        feeds[name] = _generated(random, name, tuple(sizes), code)
    return feeds


def _generated(random: Any, name: str, shape: Tuple[int, ...], code: int) -> "np.ndarray[Any, Any]":
    dtype = dtypes.element_type(code)
    if code == dtypes.BOOL or "mask" in name.lower():
        return np.ones(shape, dtype)
    if code in (dtypes.FLOAT64, dtypes.FLOAT32, dtypes.FLOAT16) or dtype.kind == "V":
        return random.random_sample(shape).astype(dtype)
    if code in (dtypes.BFLOAT16, dtypes.FLOAT8E4M3):
        return np.zeros(shape, dtype)  # bits of zero
    return random.randint(0, 2, shape).astype(dtype)


class Dataset:
    """The base class of data loaders: samples grouped into batches of `cur_bs`; a tail is left out."""

    def __init__(self, config: Dict[str, Any]) -> None:
        self.config = config
        self.cur_bs = 1
        self.batched_data: Any = []
        self.labels: Any = []
        self.items = 0
        self.batch_num = 0

    def name(self) -> str:
        raise NotImplementedError()

    def preprocess(self) -> None:
        """Prepares the samples."""

    def get_item_count(self) -> int:
        return self.items

    def get_batch_count(self) -> int:
        return self.batch_num

    def get_samples(self, sample_id: int) -> Any:
        """Batch number `sample_id` and its labels."""
        if not 0 <= sample_id < self.batch_num:
            raise ValueError("there is no batch {}: there are {}".format(sample_id, self.batch_num))
        return self.batched_data[sample_id], self.labels[sample_id]

    def rebatch(self, new_bs: int, skip: bool = True) -> None:
        raise NotImplementedError()

    def get_fake_samples(self, batch_size: int, shape: Dict[str, Any], input_type: Any) -> Dict[str, Any]:
        """Generated inputs of this batch size; `shape` by name at batch 1, `input_type` in its order."""
        return fake_feeds(batch_size, shape, input_type)


class _Rows(Sequence):  # type: ignore[type-arg]
    """A list that makes row `i` when it is asked for, so that no set is held in memory."""

    def __init__(self, count: int, make: Any) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError("row {} of {}".format(index, self._count))
        return self._make(position)


class DataLoader(Dataset):
    """The evaluated samples, or generated ones where there are none. Labels are Assay's: None here."""

    def __init__(self, config: Dict[str, Any], loader: Any) -> None:
        super().__init__(config)
        self._source = loader
        self._has_data = loader is not None and loader.size > 0
        self.eval_features: List[Any] = []
        self.eval_examples: List[Any] = []
        masks = [name for name in names_in(config.get("inputs")) if "mask" in name.lower()]
        self.mask_name: Optional[str] = masks[0] if masks else None
        self.rebatch(1, skip=False)

    def name(self) -> str:
        return self.config.get("dataset_name") or FAKE_NAME

    def rebatch(self, new_bs: int, skip: bool = True) -> None:
        if skip and new_bs == self.cur_bs:
            return
        if int(new_bs) < 1:
            raise ValueError("rebatch({}): a batch holds at least one sample".format(new_bs))
        self.cur_bs = int(new_bs)
        self.items = int(self._source.size) if self._has_data else FAKE_BATCHES * self.cur_bs
        self.batch_num = self.items // self.cur_bs
        self.batched_data = _Rows(self.batch_num, self._batch)
        self.labels = _Rows(self.batch_num, lambda _: [None] * self.cur_bs)

    def get_samples(self, sample_id: int) -> Any:
        """(feeds, labels); the feeds alone for generated data, as published loaders do."""
        feeds, labels = super().get_samples(sample_id)
        return feeds if self.name() == FAKE_NAME else (feeds, labels)

    def get_id(self, sample_id: int) -> List[int]:
        """The numbers of the samples in this batch."""
        return list(range(sample_id * self.cur_bs, (sample_id + 1) * self.cur_bs))

    def end(self) -> None:
        """The samples are Assay's and end with the call that they were lent to."""
        if self._source is not None:
            self._source = None

    def _batch(self, number: int) -> Dict[str, Any]:
        if not self._has_data:
            shapes = {name: batched_shape(self.config, name, self.cur_bs) for name in self.config["input_shape"]}
            return fake_feeds(1, shapes, self.config["input_type"], number)
        if self._source is None:
            raise BridgeError(FAILED_PRECONDITION, "the data loader is used after the call that it was"
                              " passed to has returned; keep the samples, not the loader")
        views = self._source.read(number * self.cur_bs, self.cur_bs)
        return {spec[0]: array_of(view, spec, batch_axis(self.config, spec[0]))
                for view, spec in zip(views, self._source.specs)}


def array_of(view: Any, spec: Tuple[str, int, Tuple[int, ...]], axis: Optional[int]) -> "np.ndarray[Any, Any]":
    """A copy of raw bytes as the array that `spec` describes, with as many samples along `axis` as the
    bytes hold."""
    name, code, shape = spec
    flat = np.frombuffer(view, dtype=dtypes.element_type(code)).copy()
    sizes = [-1 if i == axis else max(int(dim), 1) for i, dim in enumerate(shape)]
    try:
        return flat.reshape(sizes)
    except ValueError:
        raise BridgeError(DATA_LOSS, 'input "{}": got {} elements, its shape is {}'.format(
            name, flat.size, list(shape)))

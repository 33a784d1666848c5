"""The data loader object that compile and benchmark get."""
import sys
import unittest

import numpy as np
import support

sys.path.insert(0, str(support.PACKAGE))
import driver  # noqa: E402
from assay_host.errors import BridgeError  # noqa: E402
from assay_host.samples import DataLoader, Dataset, array_of, fake_feeds  # noqa: E402

INFO = support.CONFIGS["model_info"]


class Loader(unittest.TestCase):
    def setUp(self):
        self.source = driver.Loader(10)
        self.loader = DataLoader(INFO, self.source)

    def test_it_has_all_that_the_guide_names(self):
        loader = self.loader
        loader.preprocess()
        self.assertIsInstance(loader, Dataset)
        self.assertIs(loader.config, INFO)
        self.assertEqual((loader.name(), loader.get_item_count(), loader.get_batch_count(), loader.cur_bs,
                          loader.items, loader.batch_num), ("fashion-mnist", 10, 10, 1, 10, 10))
        self.assertEqual((len(loader.batched_data), len(loader.labels)), (10, 10))
        self.assertEqual((loader.eval_features, loader.eval_examples, loader.mask_name), ([], [], None))

    def test_samples_are_the_evaluated_ones(self):
        self.loader.rebatch(4)
        self.assertEqual((self.loader.get_batch_count(), self.loader.get_item_count()), (2, 10))  # a tail of 2
        feeds, labels = self.loader.get_samples(1)
        self.assertEqual(list(feeds), ["input"])
        np.testing.assert_array_equal(feeds["input"], self.source.data[4:8])
        self.assertEqual(labels, [None] * 4)
        self.assertEqual(self.loader.get_id(1), [4, 5, 6, 7])
        np.testing.assert_array_equal(self.loader.batched_data[-1]["input"], self.source.data[4:8])
        self.assertEqual(len(list(self.loader.batched_data)), 2)

    def test_what_was_read_stays_when_the_bytes_are_gone(self):
        feeds, _ = self.loader.get_samples(0)
        feeds["input"][:] = 0  # and may be changed
        np.testing.assert_array_equal(self.loader.get_samples(0)[0]["input"], self.source.data[:1])

    def test_inputs_that_are_batched_along_another_axis_or_not_at_all(self):
        data = np.arange(24, dtype=np.int64)
        along = array_of(memoryview(data.tobytes()), ("x", 6, (2, 1, 3)), 1)
        np.testing.assert_array_equal(along, data.reshape(2, 4, 3))
        table = array_of(memoryview(data.tobytes()), ("x", 6, (4, 6)), None)
        np.testing.assert_array_equal(table, data.reshape(4, 6))
        with self.assertRaises(BridgeError):
            array_of(memoryview(data.tobytes()), ("x", 6, (5, 6)), None)

    def test_past_the_end_and_after_the_end(self):
        with self.assertRaises(ValueError):
            self.loader.get_samples(10)
        with self.assertRaises(ValueError):
            self.loader.rebatch(0)
        self.loader.end()
        with self.assertRaises(BridgeError):
            self.loader.get_samples(0)

    def test_generated_samples_come_without_labels(self):
        loader = DataLoader(dict(INFO, dataset_name="fake_dataset"), None)
        loader.rebatch(2)
        self.assertEqual((loader.name(), loader.get_batch_count(), loader.get_item_count()), ("fake_dataset", 100, 200))
        feeds = loader.get_samples(3)
        self.assertEqual(feeds["input"].shape, (2, 1, 28, 28))
        np.testing.assert_array_equal(feeds["input"], loader.get_samples(3)["input"])
        self.assertFalse((feeds["input"] == loader.get_samples(4)["input"]).all())

    def test_generated_samples_follow_the_batch_axes(self):
        info = {"inputs": "image,text", "input_type": "FLOAT32,LONG", "dataset_name": None,
                "input_shape": {"image": [1, 3], "text": [100, 77]}, "batch_axes": {"image": 0, "text": None}}
        loader = DataLoader(info, None)
        loader.rebatch(4)
        feeds = loader.get_samples(0)
        self.assertEqual([array.shape for array in feeds.values()], [(4, 3), (100, 77)])

    def test_fake_samples_are_bounded_and_not_all_zero(self):
        shapes = {"ids": [1, 384], "mask": [1, 384], "rows": [26, 2], "flag": [1], "half": [1, 8]}
        feeds = fake_feeds(4, shapes, "LONG,INT32,INT64,BOOL,FLOAT16")
        self.assertEqual({name: (array.shape, array.dtype.name) for name, array in feeds.items()}, {
            "ids": ((4, 384), "int64"), "mask": ((4, 384), "int32"), "rows": ((104, 2), "int64"),
            "flag": ((4,), "bool"), "half": ((4, 8), "float16")})
        self.assertEqual((feeds["ids"].min(), feeds["ids"].max()), (0, 1))
        self.assertEqual(feeds["mask"].min(), 1)
        self.assertTrue(((feeds["half"] >= 0) & (feeds["half"] <= 1)).all())

    def test_a_mask_is_named(self):
        info = dict(INFO, inputs="ids,attention_mask.1")
        self.assertEqual(DataLoader(info, None).mask_name, "attention_mask.1")


if __name__ == "__main__":
    unittest.main()

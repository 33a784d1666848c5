"""What predict may return, and what its compile result may hold, one by one."""
import ctypes
import sys
import unittest

import numpy as np
import support

sys.path.insert(0, str(support.PACKAGE))
from assay_host import compiled, configs, jsonable, outputs  # noqa: E402
from assay_host.errors import BridgeError  # noqa: E402
from assay_host.predictor import Predictor, input_specs  # noqa: E402

INFO = {"inputs": "x", "input_type": "FLOAT32", "input_shape": {"x": [1, 3]}, "outputs": "y"}


def returned(value, info=INFO, batch_size=2):
    """(arrays, predictor) of a backend that returns `value`."""
    predictor = Predictor(lambda feeds: value, info, batch_size)
    predictor.learn()
    views = [memoryview(bytes(4 * int(np.prod(shape)))) for _, _, shape in predictor.inputs]
    results = predictor(views)
    return [(code, list(shape), nbytes) for _, nbytes, code, shape in results], predictor


class Tensor:
    """As a framework's: on a device, stored in some layout."""

    def __init__(self, array, layout="torch.strided", fails=None):
        self.array, self.layout, self.fails = array, layout, fails
        self.dtype, self.shape = array.dtype, array.shape

    def detach(self):
        return self

    cpu = detach

    def to_dense(self):
        return Tensor(self.array)

    def numpy(self):
        if self.fails or self.layout != "torch.strided":
            raise TypeError(self.fails or "can't convert Sparse layout tensor to numpy")
        return self.array


class Tensors(unittest.TestCase):
    def test_a_sparse_one_is_written_out(self):
        array = np.eye(2, 3, dtype="f4")
        self.assertEqual(outputs.to_array(Tensor(array, "torch.sparse_coo"), "y").tolist(), array.tolist())

    def test_one_that_becomes_no_array_is_refused_by_name(self):
        with self.assertRaises(BridgeError) as refused:
            outputs.to_array(Tensor(np.zeros(2, "f4"), fails="Got unsupported ScalarType"), "y")
        self.assertIn('output "y": got a tensor of float32 that does not become an array: Got unsupported',
                      str(refused.exception))


class Arrays(unittest.TestCase):
    def test_each_type_has_its_number(self):
        for code, dtype in {1: "f8", 2: "f4", 3: "f2", 6: "i8", 7: "i4", 8: "i2", 9: "i1", 10: "u1", 11: "?",
                            12: "u2", 13: "u4", 14: "u8"}.items():
            array = np.zeros((2, 5), dtype)
            self.assertEqual(returned(array)[0], [(code, [2, 5], array.nbytes)], dtype)

    def test_scalars_and_arrays_without_elements(self):
        self.assertEqual(returned(1.5)[0], [(1, [], 8)])
        self.assertEqual(returned(np.float32(1.5))[0], [(2, [], 4)])
        self.assertEqual(returned({"y": np.array(3)})[0], [(6, [], 8)])
        self.assertEqual(returned(np.zeros((2, 0), np.float32))[0], [(2, [2, 0], 0)])

    def test_reversed_arrays_come_in_their_own_order(self):
        whole = np.arange(6, dtype="f4").reshape(2, 3)
        predictor = Predictor(lambda feeds: whole[::-1, ::-1], INFO, 2)
        predictor.learn()
        (address, nbytes, _, shape), = predictor([memoryview(bytes(24))])
        self.assertEqual(np.frombuffer(ctypes.string_at(address, nbytes), "f4").reshape(shape).tolist(),
                         [[5, 4, 3], [2, 1, 0]])

    def test_float64_of_a_model_in_float32_is_converted_and_noted(self):
        info = {**INFO, "model_precision": "FP32"}
        predictor = Predictor(lambda feeds: np.full((2, 5), 0.1), info, 2)
        note, = predictor.learn()
        self.assertEqual(note, 'predict returns FLOAT64 for "y" of a model in FP32: converted to FLOAT32, within the'
                         " timed call")
        (address, nbytes, code, shape), = predictor([memoryview(bytes(24))])
        self.assertEqual((nbytes, code, shape), (40, 2, (2, 5)))
        self.assertEqual(np.frombuffer(ctypes.string_at(address, nbytes), "f4")[9], np.float32(0.1))

    def test_float64_of_a_model_that_has_it_stays(self):
        for more in ({"model_precision": "FP64"}, {"model_precision": "FP32", "input_type": "FLOAT64"}):
            self.assertFalse(outputs.narrows({**INFO, **more}))

    def test_read_only_and_strided_arrays(self):
        for array in (np.arange(6.0).reshape(3, 2).T, np.arange(12.0).reshape(2, 6)[:, ::2],
                      np.broadcast_to(np.arange(3.0), (2, 3))):
            result = outputs.to_array(array, "y")
            self.assertTrue(result.flags.c_contiguous)
            self.assertEqual(result.tolist(), array.tolist())
            self.assertEqual(returned(array)[0], [(1, list(array.shape), array.size * 8)])

    def test_several_outputs_by_name_and_by_position(self):
        info = dict(INFO, outputs="start,end")
        start, end = np.zeros((2, 4), np.float32), np.zeros((2, 5), np.int32)
        for value in ({"end": end, "start": start}, [start, end], (start, end),
                      {"end": end, "start": start, "extra": 1}):
            self.assertEqual(returned(value, info)[0], [(2, [2, 4], 32), (7, [2, 5], 40)])

    def test_surplus_names_are_noted(self):
        predictor = Predictor(lambda feeds: {"y": np.zeros(2), "z": 1}, INFO, 2)
        self.assertEqual(predictor.learn(), ['predict also returns "z", which model info does not name: not used'])

    def test_no_names_in_model_info(self):
        info = dict(INFO, outputs="")
        self.assertEqual([spec[0] for spec in returned([np.zeros(2)] * 2, info)[1].outputs], ["output_0", "output_1"])
        self.assertEqual([spec[0] for spec in returned({"a": np.zeros(2)}, info)[1].outputs], ["a"])
        self.assertEqual([spec[0] for spec in returned(np.zeros(2), info)[1].outputs], ["output"])

    def test_bfloat16_of_a_framework_without_that_name(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is missing")
        self.assertEqual(returned(np.zeros((2, 5), ml_dtypes.bfloat16))[0], [(4, [2, 5], 20)])

    def test_objects_that_offer_an_array(self):
        class Arrayish:
            def __array__(self, dtype=None, copy=None):
                return np.arange(4, dtype=np.int32)

        class Eager:
            dtype, shape = "int32", (4,)

            def numpy(self):
                return np.arange(4, dtype=np.int32)

        for value in (Eager(), {"y": Arrayish()}, [Eager()]):
            self.assertEqual(returned(value)[0], [(7, [4], 16)])

    def test_an_array_in_a_list_of_one(self):
        array = np.zeros((2, 5), np.float32)
        self.assertEqual(returned({"y": [array]})[0], [(2, [2, 5], 40)])
        self.assertEqual(returned({"y": [array[0]]}, batch_size=1)[0], [(2, [1, 5], 20)])  # one sample's

    def test_names_with_and_without_a_number(self):
        info = dict(INFO, outputs="start:0,end:0")
        start, end = np.zeros((2, 4), np.float32), np.zeros((2, 5), np.int32)
        shapes, predictor = returned({"end": end, "start": start}, info)
        self.assertEqual(shapes, [(2, [2, 4], 32), (7, [2, 5], 40)])
        self.assertEqual([spec[0] for spec in predictor.outputs], ["start:0", "end:0"])

    def test_outputs_by_number(self):
        self.assertEqual(returned({0: np.zeros((2, 5), np.float32)})[0], [(2, [2, 5], 40)])

    def test_free_dimensions_leave_the_outputs_free(self):
        info = dict(INFO, input_shape={"x": [1, -1]})
        predictor = Predictor(lambda feeds: np.zeros((2, 7), np.float32), info, 2)
        predictor.learn()
        self.assertEqual(predictor.inputs, [("x", 2, (2, -1))])
        self.assertEqual(predictor.outputs, [("y", 2, (2, -1))])
        seen = []
        predictor._method = lambda feeds: seen.append(feeds["x"].shape) or np.zeros((2, 7), np.float32)
        predictor([memoryview(bytes(2 * 9 * 4))])
        self.assertEqual(seen, [(2, 9)])

    def test_a_batch_multiplies_the_first_dimension_whatever_it_is(self):
        info = {"inputs": "a,b,c", "input_type": "INT64,FLOAT32,LONG", "outputs": "y",
                "input_shape": {"a": [26, 2], "b": [1, 13], "c": [100, 77]}, "batch_axes": {"a": 0, "b": 0, "c": None}}
        self.assertEqual(input_specs(info, 4), [("a", 6, (104, 2)), ("b", 2, (4, 13)), ("c", 6, (100, 77))])

    def test_model_info_that_contradicts_itself(self):
        for change, said in ((dict(input_type="FLOAT32,INT8"), "1 inputs (x) and 2 in input_type"),
                             (dict(input_shape={"z": [1]}), 'input "x": not in input_shape, which has z'),
                             (dict(input_type="FLOAT31"), 'names the type "FLOAT31"; accepted: BF16, ')):
            with self.assertRaises(BridgeError) as raised:
                input_specs(dict(INFO, **change), 1)
            self.assertIn(said, str(raised.exception))


class PublishedNames(unittest.TestCase):
    def adopted(self, **info):
        live = configs.Configs()
        live.adopt(jsonable.dump({"workload": {}, "model_info": info, "interact_info": {}}))
        return live

    def test_pytorch_has_long_for_64_bits(self):
        types = "INT64,FLOAT32"
        self.assertEqual(self.adopted(framework="Pytorch", input_type=types).model_info["input_type"], "LONG,FLOAT32")
        self.assertEqual(self.adopted(framework="Onnx", input_type=types).model_info["input_type"], types)

    def test_shapes_are_in_the_order_of_the_inputs(self):
        live = self.adopted(inputs="b,a", input_shape={"a": [1], "b": [2]}, dataset_name=None)
        self.assertEqual(list(live.model_info["input_shape"]), ["b", "a"])
        self.assertEqual(live.model_info["dataset_name"], "fake_dataset")
        self.assertIn('"dataset_name": null', live.text())

    def test_what_the_worker_repeats_leaves_the_objects_alone(self):
        live = self.adopted(model="m")
        live.model_info["handle"] = handle = object()
        live.adopt('{"model_info": {"model": "m"}}')
        self.assertIs(live.model_info["handle"], handle)
        live.adopt('{"model_info": {"model": "other"}}')
        self.assertNotIn("handle", live.model_info)


class Json(unittest.TestCase):
    def test_whatever_is_in_it_the_document_is_valid(self):
        ring = {}
        ring["self"] = ring
        dropped = []
        made = jsonable.to_jsonable({
            1: np.int8(3), "f": np.float32(0.5), "b": np.bool_(True), "nan": float("nan"), "bytes": b"x",
            "set": {2, 1}, "array": np.arange(3), "type": np.float32, "lone": "\udcff", "ring": ring,
            "lambda": lambda: 0}, dropped)
        self.assertEqual(made, {
            "1": 3, "f": 0.5, "b": True, "nan": None, "bytes": "x", "set": [1, 2], "array": [0, 1, 2],
            "type": "float32", "lone": "?", "ring": {"self": "<dict>"}, "lambda": "<function>"})
        jsonable.dump(made)
        self.assertEqual(len(dropped), 3)

    def test_compile_results_with_lists_side_by_side(self):
        notes = []
        result = compiled.normalise({"segments": {"compiled_model": {"compiled_bs": "4", "compiled_obj": "a"}}}, notes)
        self.assertEqual(result, {"segments": [{"compiled_model": [{"compiled_bs": 4, "compiled_obj": "a"}]}]})
        self.assertEqual(notes, ['compile result: compiled_bs is the text "4", taken for a number'])
        with self.assertRaises(BridgeError):
            compiled.normalise({"segments": [{"compiled_model": [
                {"compiled_bs": [1, 2], "compiled_obj": ["a"]}]}]}, notes)


if __name__ == "__main__":
    unittest.main()

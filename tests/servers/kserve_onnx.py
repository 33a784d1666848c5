"""An ONNX model behind kserve: JSON, and bytes for requests that ask for them, with metadata.

MODEL names the file, MODEL_NAME what the server calls it."""
import os

import numpy
import onnxruntime
import uvicorn
from kserve import InferOutput, InferResponse, Model, ModelServer
from kserve.utils.numpy_codec import from_np_dtype

NUMPY_TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64,
               "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64,
               "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


class Loopback(uvicorn.Config):
    """kserve names every address of the machine and takes no other."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{**options, "host": "127.0.0.1"})


def described(tensor):
    shape = [size if isinstance(size, int) else -1 for size in tensor.shape]
    return {"name": tensor.name, "datatype": from_np_dtype(NUMPY_TYPES[tensor.type]), "shape": shape}


class OnnxModel(Model):
    def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], options,
                                                    providers=["CPUExecutionProvider"])
        self.ready = True
        return True

    async def get_input_types(self):
        return [described(tensor) for tensor in self.session.get_inputs()]

    async def get_output_types(self):
        return [described(tensor) for tensor in self.session.get_outputs()]

    async def predict(self, payload, headers=None, response_headers=None):
        inputs = {tensor.name: tensor.as_numpy() for tensor in payload.inputs}
        names = [output.name for output in self.session.get_outputs()]
        asked = payload.request_outputs or []
        binary = any(output.binary_data for output in asked) or bool(payload.use_binary_outputs)
        outputs = []
        for name, value in zip(names, self.session.run(names, inputs)):
            output = InferOutput(name, list(value.shape), from_np_dtype(value.dtype))
            output.set_data_from_numpy(value, binary_data=binary)
            outputs.append(output)
        return InferResponse(payload.id, self.name, outputs, use_binary_outputs=binary,
                             requested_outputs=asked)


if __name__ == "__main__":
    model = OnnxModel(os.environ["MODEL_NAME"])
    model.load()
    uvicorn.Config = Loopback
    ModelServer(http_port=0, enable_grpc=False, workers=1).start([model])

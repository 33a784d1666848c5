"""An ONNX model behind mlserver: JSON alone, and no metadata but names.

MODEL names the file, MODEL_NAME what the server calls it."""
import asyncio
import os

import numpy
import onnxruntime
from mlserver import MLModel, MLServer, ModelSettings, Settings
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class OnnxModel(MLModel):
    async def load(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.environ["MODEL"], options,
                                                    providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload):
        inputs = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        names = [output.name for output in self.session.get_outputs()]
        outputs = [NumpyCodec.encode_output(name, numpy.asarray(value))
                   for name, value in zip(names, self.session.run(names, inputs))]
        return InferenceResponse(model_name=self.name, id=payload.id, outputs=outputs)


async def serve():
    settings = Settings(host="127.0.0.1", http_port=0, grpc_port=0, metrics_endpoint=None,
                        parallel_workers=0, debug=False)
    model = ModelSettings(name=os.environ["MODEL_NAME"], implementation=OnnxModel)
    await MLServer(settings).start([model])


if __name__ == "__main__":
    asyncio.run(serve())

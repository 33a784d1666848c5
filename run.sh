#!/usr/bin/env bash
# Evaluates a model: ./run.sh --task fashion-mnist-cnn-onnx-fp32 --hardware_type CPU
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/assay" run "$@"

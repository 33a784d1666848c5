# shellcheck shell=bash
# Backends, and runtimes of the CPU backend, which are fetched and built only when somebody asks for
# them: by the name of the backend, or by a task whose model is of that format. To be sourced.

# What each needs of tools/deps.lock. A new one is a line here and one in the next table.
declare -rA assay_backend_needs=(
  [OPENVINO]="openvino"
  [CPU/pt]="libtorch"
  [CPU/saved_model]="openvino"
  [CPU/tflite]="openvino"
)

# What builds it.
declare -rA assay_backend_targets=(
  [OPENVINO]="assay_backend_openvino"
  [CPU/pt]="assay_cpu_torch"
  [CPU/saved_model]="assay_cpu_openvino"
  [CPU/tflite]="assay_cpu_openvino"
)

# option_value NAME ARGUMENT...: "X" of "--NAME X" or "--NAME=X", the last one.
option_value() {
  local name=$1 value='' argument previous=''
  shift
  for argument; do
    [[ $argument == "--$name="* ]] && value=${argument#*=}
    [[ $previous == "--$name" ]] && value=$argument
    previous=$argument
  done
  echo "$value"
}

# json_text KEY FILE: a member whose value is a text, as the files of workloads/ and model_zoo/ have it.
json_text() {
  [[ -f $2 ]] || return 0
  sed -n "s/^[[:space:]]*\"$1\"[[:space:]]*:[[:space:]]*\"\([^\"]*\)\".*/\1/p" "$2" | head -n 1
}

# format_named ARGUMENT...: the model format that a command line asks for, "" when it does not say.
format_named() {
  local task model root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  task=$(option_value task "$@")
  [[ -n $task ]] || { [[ ${1:-} == fetch ]] && task=${2:-}; }
  model=$(option_value model "$@")
  if [[ -n $model ]]; then
    case $model in
      *.pt | *.pth) echo pt ;;
      *.tflite) echo tflite ;;
      *) if [[ -e $model/saved_model.pb ]]; then echo saved_model; fi ;;
    esac
  elif [[ -n $task ]]; then
    model=$(json_text model "$root/workloads/$task.json")
    json_text model_format "$root/model_zoo/$model.json"
  fi
}

# backends_named ARGUMENT...: those of the table that a command line needs, each once:
# "--hardware_type OPENVINO", "check-backend OPENVINO", "--task resnet50-torch-fp32".
backends_named() {
  local backend argument format hardware
  for backend in "${!assay_backend_needs[@]}"; do
    for argument; do
      if [[ ${argument##*=} == "$backend" ]]; then
        echo "$backend"
        break
      fi
    done
  done
  format=$(format_named "$@")
  hardware=$(option_value hardware_type "$@")
  if [[ -n $format && ${hardware:-CPU} == CPU && -n ${assay_backend_needs[CPU/$format]:-} ]]; then
    echo "CPU/$format"
  fi
}

# backend_target NAME: what builds it.
backend_target() { echo "${assay_backend_targets[$1]}"; }

# shellcheck shell=bash
# The pinned dependencies: how each is unpacked into deps/<name>-<version>/, and how that is done
# so that an interruption leaves nothing half made. To be sourced after common.sh and fetch.sh.
#
# For a dependency NAME: parts_NAME prints the rows of tools/deps.lock that it is made of,
# unpack_NAME DIR fills the empty folder DIR, expects_NAME prints files that DIR must then hold.

parts_onnxruntime() { echo onnxruntime onnxruntime-headers; }
expects_onnxruntime() { echo lib/libonnxruntime.so include/onnxruntime/onnxruntime_c_api.h; }
unpack_onnxruntime() {
  local library
  library=onnxruntime/capi/libonnxruntime.so.$(lock_field onnxruntime 2)
  unzip -q -j -d "$1/lib" "$(download_of onnxruntime)" "$library" \
    onnxruntime/capi/libonnxruntime_providers_shared.so
  unzip -q -j -d "$1" "$(download_of onnxruntime)" onnxruntime/LICENSE onnxruntime/ThirdPartyNotices.txt
  ln -s "$(basename "$library")" "$1/lib/libonnxruntime.so.1"
  ln -s libonnxruntime.so.1 "$1/lib/libonnxruntime.so"
  dpkg-deb -x "$(download_of onnxruntime-headers)" "$1/headers"
  mv "$1/headers/usr/include" "$1/include"
  rm -r "$1/headers"
}

parts_ftxui() { echo ftxui; }
expects_ftxui() { echo lib/libftxui-component.a include/ftxui/component/component.hpp; }
unpack_ftxui() {
  local work=$1.build
  mkdir "$work"
  tar -xzf "$(download_of ftxui)" -C "$work" --strip-components=1
  say "  building it once ..."
  cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$1" \
    -DFTXUI_BUILD_EXAMPLES=OFF -DFTXUI_BUILD_DOCS=OFF -DFTXUI_BUILD_TESTS=OFF
  cmake --build "$work/build"
  cmake --install "$work/build"
  cp "$work/LICENSE" "$1/LICENSE"
}

parts_uplot() { echo uplot; }
expects_uplot() { echo dist/uPlot.iife.min.js dist/uPlot.min.css LICENSE; }
unpack_uplot() { tar -xzf "$(download_of uplot)" -C "$1" --strip-components=1; }

parts_onnx_proto() { echo onnx-proto; }
expects_onnx_proto() { echo onnx/onnx-ml.proto LICENSE; }
unpack_onnx_proto() {
  unzip -q -d "$1" "$(download_of onnx-proto)" onnx/onnx-ml.proto
  unzip -q -j -d "$1" "$(download_of onnx-proto)" '*/licenses/LICENSE'
}

parts_loadgen() { echo loadgen; }
expects_loadgen() { echo loadgen.h loadgen.cc; }
unpack_loadgen() { tar -xzf "$(download_of loadgen)" -C "$1" --strip-components=1; }

# The C++ development files of the wheel, without the plugins of devices other than the CPU. Its
# CMake package finds its libraries by the name of its folder.
parts_openvino() { echo openvino; }
expects_openvino() { echo openvino/cmake/OpenVINOConfig.cmake openvino/include/openvino/openvino.hpp; }
unpack_openvino() {
  unzip -q -d "$1" "$(download_of openvino)" 'openvino/include/*' 'openvino/cmake/*' 'openvino/libs/*' \
    '*.dist-info/licenses/*' -x openvino/libs/libopenvino_intel_gpu_plugin.so \
    openvino/libs/libopenvino_intel_npu_plugin.so openvino/libs/cache.json
  mv "$1"/*.dist-info/licenses "$1/licenses"
  rmdir "$1"/*.dist-info
}

# The libraries are those of the processor alone; the headers come from the wheel of the same release
# for another processor, which is a tenth of this one's: they differ in switches of libraries that no
# header of the script interface uses.
parts_libtorch() { echo libtorch libtorch-headers; }
expects_libtorch() { echo lib/libtorch_cpu.so lib/libc10.so include/torch/script.h; }
unpack_libtorch() {
  unzip -q -j -d "$1/lib" "$(download_of libtorch)" 'pytorch/cpu/linux-x86_64/*.so*'
  unzip -q -d "$1" "$(download_of libtorch-headers)" 'torch/include/*' '*.dist-info/LICENSE' '*.dist-info/NOTICE'
  mv "$1/torch/include" "$1/include"
  mv "$1"/*.dist-info "$1/licenses"
  rmdir "$1/torch"
}

download_of() { echo "$assay_downloads/$(lock_field "$1" 5)"; }

# override_variable ftxui -> ASSAY_FTXUI_DIR; onnxruntime-headers belongs to onnxruntime.
override_variable() {
  local name=${1%-headers}
  name=${name//-/_}
  echo "ASSAY_${name^^}_DIR"
}

override_hint() {
  echo "Or supply the folder yourself: $(override_variable "$1")=..., see docs/guide/other-distributions.md."
}

# provide NAME: deps/<NAME>-<version> is complete afterwards. Does nothing when it is already.
provide() {
  local name=$1 dir variable
  dir=$assay_deps/$name-$(lock_field "$name" 2)
  variable=$(override_variable "$name")
  if [[ -n ${!variable:-} ]]; then
    link_override "$name" "$dir" "${!variable}"
    return
  fi
  # A link was made for an override, and stays until somebody removes it.
  if [[ -L $dir ]]; then
    holds_expected "$name" "$dir" || die "$dir points to a folder that lacks $missing_file; remove the link or mend it."
    return
  fi
  is_provided "$name" || make_dependency "$name" "$dir"
}

# is_provided NAME: there is nothing to fetch or to unpack.
is_provided() {
  local dir variable
  dir=$assay_deps/$1-$(lock_field "$1" 2)
  variable=$(override_variable "$1")
  [[ -n ${!variable:-} || -L $dir ]] ||
    [[ -f $dir/.stamp && $(<"$dir/.stamp") == "$(stamp_of "$1")" ]]
}

make_dependency() {
  local name=$1 dir=$2 function=${1//-/_} part scratch start
  [[ $(uname -m) == x86_64 || $name != @(onnxruntime|openvino|libtorch) ]] ||
    die "$name is pinned for x86-64 only. $(override_hint "$name")"
  start=$(now_ms)
  say "$name $(lock_field "$name" 2)"
  for part in $("parts_$function"); do fetch_file "$part"; done
  scratch=$(new_scratch)
  mkdir "$scratch/new"
  # In a process of its own, so that errexit holds inside and any failing step is seen.
  set +e
  (set -e; "unpack_$function" "$scratch/new") >"$assay_state/$name.log" 2>&1
  local status=$?
  set -e
  if ((status)) || ! holds_expected "$name" "$scratch/new"; then
    tail -n 15 "$assay_state/$name.log" | sed 's/^/    /' >&2
    die "could not unpack $name${missing_file:+ ($missing_file is missing)}; the log is $assay_state/$name.log.
Check the free disk space in $assay_cache, then repeat. $(override_hint "$name")"
  fi
  stamp_of "$name" >"$scratch/new/.stamp"
  if [[ -e $dir ]]; then mv "$dir" "$scratch/old"; fi
  mv "$scratch/new" "$dir"
  say "  ready after $(seconds_since "$start")"
}

# What a finished folder was made from: the digests of its parts.
stamp_of() {
  local part
  for part in $("parts_${1//-/_}"); do lock_field "$part" 6; done
}

# holds_expected NAME DIR; sets missing_file otherwise.
holds_expected() {
  missing_file=
  local file
  for file in $("expects_${1//-/_}"); do
    [[ -e $2/$file ]] || { missing_file=$file; return 1; }
  done
}

link_override() {
  local name=$1 dir=$2 target
  target=$(realpath -e "$3" 2>/dev/null) || die "$(override_variable "$name")=$3: there is no such folder."
  holds_expected "$name" "$target" ||
    die "$(override_variable "$name")=$3 lacks $missing_file; see docs/guide/other-distributions.md."
  [[ -L $dir && $(readlink "$dir") == "$target" ]] && return
  rm -rf "$dir"
  ln -s "$target" "$dir"
  say "$name: using $target"
}

#!/bin/bash
# SPDX-License-Identifier: MIT
# Two machines on one network, of which one uses the other's disk, as TAP: pair.sh PYTHON. The part
# of annex.offload() that is compiled for PyTorch is made here: guests are slow, and only read.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${BUILD:-build}")
export PAIR=1

tests/qemu/run.sh -k 6.1,6.12,7.3 nvmf
XDG_CACHE_HOME=$build/qemu/cache ANNEX_LIBRARY=$build/libannex.so PYTHONPATH=tools/python "$1" -c '
import annex
with annex.offload(device_memory="4M", storage="mem:64M"):
    pass
'
tests/qemu/run.sh -k 6.12 nvmfranks

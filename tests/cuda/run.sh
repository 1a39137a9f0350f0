#!/bin/bash
# SPDX-License-Identifier: MIT
# The hot-path headers as CUDA: run.sh WORK-DIR. ALL=1 in the environment: the pass for the host,
# and nvcc, compile each header alone, too, and not only in what includes it, and nvcc optimises.
#
# clang checks both passes of every file on any machine, with no CUDA toolkit. It only checks:
# LLVM 14 cannot generate system-scope atomics. Where nvcc is, it compiles them for real, but does
# not optimise (-G), which takes twenty times as long.
set -u
cd "$(dirname "$0")/../.." || exit 1

work=$1
mkdir -p "$work" || exit 1
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)

optimise=(-G)
[ "${ALL:-0}" != 1 ] || optimise=(-Xptxas -O0)

claim_log=$work/log
# shellcheck source=tests/claim.sh
. tests/claim.sh

with_clang()
{
	clang -x cuda -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -fsyntax-only -std=c++14 \
		-Wall -Wextra -Werror -Wno-unknown-cuda-version -Iinclude -I. "$@"
}

with_nvcc()
{
	"$nvcc" -c -std=c++17 -arch=sm_80 "${optimise[@]}" -Werror all-warnings \
		-Xcompiler -Wall -Iinclude -I. -o "$work/object.o" "$@"
}

# Also the sources of programs and device tests: a clang without CUDA's headers can read them.
sources=(tests/cuda/*.cu tools/gpu/kernels.cu tests/gpu/kernels.cu)
# A header is on the hot path if it has code for the device.
while read -r header; do
	source=$work/$(basename "$header" .h)-alone.cu
	printf '#include <%s>\n' "${header#include/}" >"$source"
	sources+=("$source")
done < <(grep -l ANNEX_HD include/annex/*.h{,pp} include/annex/detail/*.h)

for source in "${sources[@]}"; do
	claim "clang, device pass" with_clang --cuda-device-only "$source"
	[ "${ALL:-0}" = 1 ] || [[ $source != *-alone.cu ]] || continue
	claim "clang, host pass" with_clang --cuda-host-only "$source"
	[ -z "$nvcc" ] || claim "nvcc" with_nvcc "$source"
done
# The GPU by CUDA's runtime, which clang does not have here.
for source in lib/gpu/cuda/*.cu tools/gpu/launch.cu; do
	[ -z "$nvcc" ] || claim "nvcc" with_nvcc "$source"
done
[ -n "$nvcc" ] || echo "no nvcc here: checked with clang only"
claims_end

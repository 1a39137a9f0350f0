#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests and figures of the GPU path on a machine that has nvcc, a GPU, gcc and little else:
#
#   tests/gpu/run.sh [--twin] [RESULTS.json]
#
# Builds the parts of the library that the tests need, runs every device test and benchmark, the
# tests once more under compute-sanitizer, and writes one JSON file (build/gpu/results.json). Each
# step has a time limit; together they take less than eight minutes. Exit 77: no GPU, or no nvcc.
#
# --twin rehearses the same list on the host: the same device code, run by lanes of warps that
# threads play, and PyTorch's training in the host's frames. It has no figures, which only a GPU
# gives.
#
# ANNEX_TEST_DEVICE=pci:ADDRESS: also on that drive, which annex.ko has, with its rings in GPU
# memory; its first MiB is overwritten.
set -u
cd "$(dirname "$0")/../.." || exit 1

twin=
if [ "${1:-}" = --twin ]; then
	twin=1
	shift
fi
build=${BUILD:-build}/gpu${twin:+-twin}
results=${1:-$build/results.json}
cc=${CC:-gcc}
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
arch=${CUDA_ARCH:-native}
san=${SAN:-}
python=${PYTHON:-python3}
budget=460 # seconds for all; a step that finds none left has failed
started=$SECONDS
mkdir -p "$build/parts" || exit 1

die()
{
	echo "gpu: $*" >&2
	exit 1
}

skip()
{
	echo "gpu: $*" >&2
	exit 77
}

# Text as JSON has it.
quoted()
{
	printf '"%s"' "$(tr -d '\n"\134' <<<"$1")"
}

# Without libnuma: spaces have no CXL memory then.
flags=(-std=gnu11 -O2 -g -fPIC -Wall -Wextra -pthread -Iinclude -I. -Ilib -Itests/gpu/without/numa)
sources=(lib/core/*.c lib/nvme/*.c lib/nvme/module/*.c lib/nvme/emu/*.c lib/nvme/emu/*/*.c
	lib/gpu/*.c tools/common/{cleanup,error,progress}.c
	tools/gpu/{runner,bench,bench_hot,bench_cold,bench_queue}.c
	lib/migrate/{copy,fault,finish,frames,guard,job,link,move,pace,page,pool,request}.c
	lib/migrate/{room,runs,signal,space,store,table,tensor,tier,watch}.c lib/plan/system.c
	tests/gpu/without/numa/hdm.c
	tools/gpu/{search,add,scan,whole}.c tests/gpu/{main,rig,arrays,faults,programs,tiers}.c)
# annex.offload for PyTorch needs more of the library, but no files of plans and traces.
more=(lib/migrate/{ahead,exec,flight,kind,log,machine,planning,probe,uses}.c
	lib/plan/{check,place,plan}.c lib/plan/trace/{trace,vitality}.c
	lib/plan/{simulate,policy,planner}/*.c lib/flash/*.c
	tests/gpu/without/package.c)
libs=(-lpthread)
device=()

# Backends that need liburing, which is rarely there.
urings='lib/nvme/emu/@(file|ng|ring)/*.c'
if echo '#include <liburing.h>' | "$cc" -E - >/dev/null 2>&1; then
	libs+=(-luring)
else
	echo "no liburing here: without file: devices"
	keep=()
	for source in "${sources[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $source == $urings ]] || keep+=("$source")
	done
	sources=("${keep[@]}" tests/gpu/without/ring.c)
fi
[ -z "$san" ] || flags+=("-fsanitize=$san" -fno-sanitize-recover=all -fno-omit-frame-pointer)
[[ $san != *thread* ]] || flags+=(-Wno-tsan)
if [ -n "$twin" ]; then
	sources+=(tests/unit/gpu/twin.c tests/gpu/twin.c)
else
	[ -n "$nvcc" ] || skip "no nvcc here: install the CUDA toolkit, or name it with NVCC=PATH"
	sources+=(tests/gpu/real.c)
	device=(lib/gpu/cuda/*.cu tools/gpu/kernels.cu tools/gpu/launch.cu tests/gpu/kernels.cu)
fi

# Each line of standard input a command, as many at a time as there are processors.
all_at_once()
{
	timeout 300 xargs -d '\n' -P "$(nproc)" -I{} sh -c '{} || exit 255'
}

# Libraries for Python: the same objects, and @more.
build_shared()
{
	local source objects=()
	for source in "${more[@]}"; do
		echo "$cc ${flags[*]} -c -o $(object "$source") $source"
	done | all_at_once || return
	for source in "${sources[@]}" "${more[@]}"; do
		[[ $source != lib/* && $source != tests/gpu/without/* ]] ||
			objects+=("$(object "$source")")
	done
	"$cc" "${flags[@]}" -shared -Wl,-soname,libannex.so.0 -Wl,-Bsymbolic -Wl,-z,defs \
		-o "$build/libannex.so" "${objects[@]}" "${libs[@]}" -lm || return
	[ -z "$twin" ] || return 0
	objects=()
	for source in lib/gpu/cuda/*.cu; do
		objects+=("$(object "$source")")
	done
	"$nvcc" -arch="$arch" -shared -o "$build/libannex-cuda.so" "${objects[@]}" \
		-L"$build" -lannex
}

# A PyTorch program whose tensors exceed the device tier, beside the C tests where it can run.
train()
{
	if [ -n "$san" ]; then
		echo "without PyTorch's training: Python has no sanitizer"
	elif ! wait "$checked"; then
		echo "without PyTorch's training: $(tail -n 1 "$build/check.log")"
	elif ! build_shared >"$build/shared.log" 2>&1; then
		tail -n 20 "$build/shared.log"
		note "libraries for Python" 1 0 shared
	else
		ANNEX_LIBRARY=$(realpath "$build/libannex.so") \
			step train 240 "$python" tests/gpu/train.py ${twin:+--twin} \
			"$build/parts/train"
	fi
}

object()
{
	local name=${1//\//-}
	echo "$build/${name%.*}.o"
}

build_all()
{
	local source objects=()
	for source in "${sources[@]}" "${device[@]}"; do
		objects+=("$(object "$source")")
	done
	{
		for source in "${sources[@]}"; do
			echo "$cc ${flags[*]} -c -o $(object "$source") $source"
		done
		for source in "${device[@]}"; do
			echo "$nvcc -std=c++17 -O2 -lineinfo -arch=$arch -Xcompiler -fPIC" \
				"-Iinclude -I. -c -o $(object "$source") $source"
		done
	} | all_at_once || return
	if [ -n "$twin" ]; then
		"$cc" "${flags[@]}" -o "$build/main" "${objects[@]}" "${libs[@]}" -lm
	else
		"$nvcc" -arch="$arch" -o "$build/main" "${objects[@]}" "${libs[@]}" -lm
	fi
}

# The emulated controllers once more, as on a machine without liburing.
build_without()
{
	local source at objects=()
	mkdir -p "$build/without" || return
	for source in "${sources[@]}" tests/gpu/without/ring.c; do
		at=$(object "$source")
		# shellcheck disable=SC2053 # it is a pattern
		[[ $source != $urings ]] || continue
		if [[ $source == tests/gpu/without/ring.c ]]; then
			at=$build/without/ring.o
			echo "$cc ${flags[*]} -c -o $at $source" >"$build/without/commands"
		fi
		objects+=("$at")
	done
	all_at_once <"$build/without/commands" &&
		"$cc" "${flags[@]}" -o "$build/main-without" "${objects[@]}" -lpthread -lm
}

# The time limit of a step: SECONDS, or the rest of the budget.
limit()
{
	local left=$((started + budget - SECONDS))
	[ $left -ge 1 ] || left=1
	echo $((left < $1 ? left : $1))
}

# A test of the script's own: its name, and whether it passed.
note()
{
	local ok=false
	[ "$2" -ne 0 ] || ok=true
	printf '{"test": %s, "passed": %s, "time_s": %d}\n' "$(quoted "$1")" $ok "$3" \
		>>"$build/parts/$4"
}

# step NAME SECONDS COMMAND... - One part of the list, bounded; NAME is that of its lines.
step()
{
	local name=$1 limit rc begun=$SECONDS
	limit=$(limit "$2")
	shift 2
	rm -f "$build/parts/$name"
	timeout -k 10 "$limit" "$@" >"$build/$name.log" 2>&1
	rc=$?
	# Later it is a GPU that has gone.
	[ $rc -ne 77 ] || [ "$name" != arrays ] || skip "$(tail -n 1 "$build/$name.log")"
	cat "$build/$name.log"
	# A program that was ended, or that crashed, has not said so by itself.
	if [ $rc -eq 124 ] || [ $rc -ge 128 ] || ! [ -s "$build/parts/$name" ]; then
		[ $rc -ne 124 ] || echo "not ok $name: did not end within $limit s"
		note "$name" 1 $((SECONDS - begun)) "$name"
	fi
}

# Tests once more, on which a tool of the toolkit looks: it says 0 errors, or the claim is false.
sanitize()
{
	local tool=$1 group=$2 name=$1-$2 rc begun=$SECONDS
	timeout -k 10 "$(limit 60)" "$sanitizer" --tool "$tool" --error-exitcode 99 \
		--report-api-errors no "$build/main" "$build/parts/ignored" "$group" small \
		>"$build/$name.log" 2>&1
	rc=$?
	rm -f "$build/parts/ignored" "$build/parts/$name"
	note "compute-sanitizer $tool: $group" $rc $((SECONDS - begun)) "$name"
	if [ $rc -eq 0 ]; then
		echo "ok compute-sanitizer $tool: $group"
	else
		echo "not ok compute-sanitizer $tool: $group (exit $rc)"
		tail -n 20 "$build/$name.log" | sed 's/^/    /'
	fi
}

# What the machine is called, as a member of the JSON.
machine()
{
	local gpu='' driver='' toolkit=''
	if [ -z "$twin" ]; then
		# The one that was used, which need not be the first that nvidia-smi tells of.
		gpu=$(sed -n 's/^arrays, \(.*\), ANNEX_SEED=.*/\1/p' "$build/arrays.log")
		driver=$(timeout 20 nvidia-smi --format=csv,noheader \
			--query-gpu=driver_version 2>/dev/null | head -n 1)
		toolkit=$("$nvcc" --version | sed -n 's/.*release \([^,]*\),.*/\1/p')
	fi
	printf '"gpu": %s, "driver": %s, "cuda": %s, "processor": %s, "processors": %d, ' \
		"$(quoted "${twin:+host twin}$gpu")" "$(quoted "$driver")" \
		"$(quoted "$toolkit")" \
		"$(quoted "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)")" \
		"$(nproc)"
	printf '"kernel": %s, "sanitizer": %s' "$(quoted "$(uname -r)")" \
		"$(quoted "${sanitizer:-none}")"
}

# Lines of objects, as a comma-separated list.
list()
{
	cat "$build"/parts/* 2>/dev/null | grep "^{\"$1\"" | sed '$!s/$/,/; s/^/    /'
}

write_results()
{
	mkdir -p "$(dirname "$results")" || die "cannot make the folder of $results"
	{
		echo "{"
		echo "  \"machine\": {$(machine)},"
		echo "  \"date\": \"$(date -u +%Y-%m-%d)\","
		echo "  \"command\": $(quoted "tests/gpu/run.sh${twin:+ --twin}"),"
		echo "  \"time_s\": $((SECONDS - started)),"
		printf '  "tests": [\n%s\n  ],\n' "$(list test)"
		printf '  "figures": [\n%s\n  ]\n' "$(list figure)"
		echo "}"
	} >"$results" || die "cannot write $results"
}

rm -rf "$build/parts" "$results"
mkdir -p "$build/parts"
sanitizer=
if [ -z "$twin" ] && command -v nvidia-smi >/dev/null; then
	timeout 20 nvidia-smi -L 2>/dev/null | grep -q '^GPU' ||
		skip "no GPU here that nvidia-smi can see"
elif [ -z "$twin" ] && ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
	skip "no GPU here: tests/gpu/run.sh --twin rehearses without one"
fi
# Meanwhile the Python package's compiled part is built, where there is PyTorch.
[ -n "$san" ] || "$python" tests/gpu/train.py ${twin:+--twin} --check - >"$build/check.log" 2>&1 &
checked=$!
trap 'kill "$checked" 2>/dev/null' EXIT
if ! build_all >"$build/build.log" 2>&1; then
	tail -n 40 "$build/build.log"
	note build 1 $((SECONDS - started)) build
	write_results
	die "does not build"
fi

if [ -n "$twin" ] && [[ ${libs[*]} == *uring* ]]; then
	began=$SECONDS
	build_without >"$build/without.log" 2>&1
	rc=$?
	note "without liburing" $rc $((SECONDS - began)) without
	[ $rc -eq 0 ] || tail -n 20 "$build/without.log"
fi

for group in arrays faults programs tiers; do
	step $group 60 "$build/main" "$build/parts/$group" $group
done
if [ -z "$twin" ] && [ -n "${ANNEX_TEST_DEVICE:-}" ]; then
	step drive 60 "$build/main" "$build/parts/drive" drive
fi
for group in queues cold hot; do
	step $group 60 "$build/main" "$build/parts/$group" $group
done
[ -n "$twin" ] ||
	sanitizer=$(command -v compute-sanitizer || ls "${nvcc%/*}/compute-sanitizer" 2>/dev/null)
if [ -n "$twin" ]; then
	:
elif [ -n "$sanitizer" ]; then
	# Racecheck knows shared memory only, of which there is none; synccheck, the masks of warps.
	for tool in memcheck racecheck synccheck; do
		sanitize $tool arrays
		sanitize $tool programs
	done
	# Its kernels share nothing; memcheck sees accesses to pages that were not fetched.
	sanitize memcheck tiers
else
	echo "no compute-sanitizer here: not checked by it"
fi
train

write_results
passed=$(list test | grep -c '"passed": true')
failed=$(list test | grep -c '"passed": false')
met=$(list figure | grep -c '"met": true')
missed=$(list figure | grep -c '"met": false')
echo "results: $results"
[ $((met + missed)) -eq 0 ] || echo "$met of $((met + missed)) figures met"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# Everything `make check` runs after the installation of what it needs, in the order in which
# failures are the most telling. Its random tests draw the same numbers each time. `check.sh fuzz`
# runs the fuzz targets only, `check.sh long` random tests with new seeds and guests that take long.
#
# A step that prints "N passed, N failed" last, or CUnit's summary, counts as its tests; any other
# step counts as one. BUILD, MAKE, V and FUZZ_TIME come from the Makefile.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build}
make=${MAKE:-make}
logs=$build/check
passed=0
failed=0
broken=()
mkdir -p "$logs" || exit 1

# Tests fail on what the sanitizers find, however the program ends.
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# Print "passed failed" of a finished step.
count()
{
	local log=$1 rc=$2
	awk -v rc="$rc" '
	$1 == "tests" && NF == 6 { p += $4; f += $5; seen = 1; next }
	/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; seen = 1 }
	END {
		if (!seen)
			p = f = 0
		if (rc && !f)
			f = 1
		if (!seen && !rc)
			p = 1
		print p + 0, f + 0
	}' "$log"
}

# begin NAME SECONDS COMMAND... - Start one step, bounded; its end is told in files beside its log.
begin()
{
	local name=$1 limit=$2 log
	shift 2
	log=$logs/${name//[ \/:]/-}.log
	rm -f "$log.end"
	[ -z "${V:-}" ] || echo "+ $*"
	{
		trap 'kill "$child"' TERM
		start=$SECONDS
		timeout -k 10 "$limit" "$@" </dev/null >"$log" 2>&1 &
		child=$!
		wait "$child"
		rc=$?
		[ $rc -ne 124 ] || echo "did not end within $limit s" >>"$log"
		echo "$rc $((SECONDS - start))" >"$log.end"
	} &
	begun=$!
}

# report NAME PID - Wait for a step and report it in one line.
report()
{
	local name=$1 log=$logs/${1//[ \/:]/-}.log rc=1 time=0 p f
	printf '%-34s' "$name"
	wait "$2"
	read -r rc time <"$log.end"
	read -r p f < <(count "$log" "$rc")
	passed=$((passed + p))
	failed=$((failed + f))
	if [ "$f" -eq 0 ]; then
		printf 'ok    %4d passed  %4d s\n' "$p" "$time"
		[ -z "${V:-}" ] || cat "$log"
		return 0
	fi
	printf 'FAIL  %4d passed, %d failed  %4d s\n' "$p" "$f" "$time"
	if [ -n "${V:-}" ]; then
		cat "$log"
	else
		# What failed may stand far above what came last.
		{ grep -a '^not ok' "$log" | head -n 20; tail -n 40 "$log"; } |
			cut -c 1-200 | sed 's/^/    | /'
	fi
	echo "    whole log: $log"
	broken+=("$name")
	return 1
}

step()
{
	begin "$@"
	report "$1" "$begun"
}

# What runs in the background does not hear a Ctrl-C by itself.
# shellcheck disable=SC2046 # words are wanted
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

mk=("$make" --no-print-directory -j"$(nproc)" BUILD="$build")

# ThreadSanitizer of this age cannot place its shadow under strong address randomisation.
fixed_addresses=()
if setarch -R true 2>/dev/null; then
	fixed_addresses=(setarch -R)
fi

fuzz()
{
	step "build: fuzz targets" 900 "${mk[@]}" CC=clang SAN=fuzzer fuzz-build || return
	step "fuzz${1:+: $1 s each}" $((${1:-100} * 11 + 300)) \
		tests/fuzz/run.sh "$build/clang-san-fuzzer" "$build/fuzz" "$@"
}

# The module needs kernels, and its tests an emulator, which cannot be had everywhere: then the step
# says so and fails.
module()
{
	step "module: 6.1, 6.12" 1200 sh -c 'tests/deps.sh module && tests/module/run.sh'
	step "guests" 3600 sh -c 'tests/deps.sh qemu && tests/qemu/run.sh'
}

# Random tests and pairs of writers with new seeds; then guests in two cells of the matrix, with
# everything that finds a wrong store.
long()
{
	local test='tests/deps.sh qemu && tests/qemu/run.sh'
	if step "build: gcc" 900 "${mk[@]}" CC=gcc all unit; then
		step "unit tests: new seeds" 3600 tests/unit/seeds.sh "$build/unit" 20
		step "pairs of writers: a new seed" 3600 tests/tool/pairs.py "$build/annex" 40 \
			"$(date +%s)"
		step "pytorch: 10,000 random programs" 5400 env ANNEX_LIBRARY="$build/libannex.so" \
			"${PYTHON:-/usr/bin/python3}" tests/torch/fuzz.py tools/pytorch \
			--programs 10000 --new-seeds
	fi
	export LONG=1 APPEND="kfence.sample_interval=1 slub_debug=FZPU"
	step "guests, long: 6.1" 5400 env KERNEL=6.1 IOMMU=0 NVME=1 sh -c "$test"
	step "guests, long: 6.12, IOMMU" 5400 env KERNEL=6.12 IOMMU=1 NVME=4 sh -c "$test"
}

finish()
{
	local name
	# Once more, since of a long report often the end alone is kept.
	for name in ${broken[@]+"${broken[@]}"}; do
		echo "failed: $name"
		grep -a '^not ok' "$logs/${name//[ \/:]/-}.log" | cut -c 1-160 | head -n 15 |
			sed 's/^/    | /'
	done
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
	exit
}

if [ "${1:-}" = fuzz ]; then
	fuzz "${FUZZ_TIME:-600}"
	finish
fi
if [ "${1:-}" = long ]; then
	long
	finish
fi

if step "build: gcc" 900 "${mk[@]}" CC=gcc all unit bench-build rv-build \
	ndp-build; then
	step "unit tests" 600 "$build/unit"
	step "unit tests: seeds that failed" 300 tests/unit/seeds.sh "$build/unit"
	step "near-data kernels: qemu" 900 env ANNEX_TEST_QEMU="$build/ndp" "$build/unit" \
		kernels_array kernels_column kernels_graph kernels_kv kernels_model
	step "riscv: against qemu" 900 tests/rv/run.sh "$build" 200000
	step "tool tests" 600 tests/tool/run.sh "$build/annex"
	step "pytorch" 600 tests/torch/run.sh "$build/annex"
	step "install" 300 tests/install/run.sh "$build"
fi
if step "build: address, undefined" 900 "${mk[@]}" CC=gcc SAN=address,undefined all unit; then
	step "unit tests: address, undefined" 900 "$build/san-address-undefined/unit"
	step "tool tests: address, undefined" 900 tests/tool/run.sh \
		"$build/san-address-undefined/annex"
fi
step "build: thread" 900 "${mk[@]}" CC=gcc SAN=thread unit &&
	step "unit tests: thread" 1800 "${fixed_addresses[@]}" "$build/san-thread/unit"
step "build: clang" 900 "${mk[@]}" CC=clang all unit
module
fuzz
# The model takes long on one core: what follows has the others.
begin "model" 2400 tests/model/run.sh "$build/model"
model=$begun
step "cuda dialect" 300 tests/cuda/run.sh "$build/cuda"
step "gpu: host twin" 300 env BUILD="$build" tests/gpu/run.sh --twin
step "lint" 1800 tests/lint/run.sh
report "model" "$model"
finish

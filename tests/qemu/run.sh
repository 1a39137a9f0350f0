#!/bin/bash
# SPDX-License-Identifier: MIT
# Tests of the module in guests, as TAP. While editing: one machine, some tests:
#
#   run.sh [-k KERNEL] [-i IOMMU] [-n CONTROLLERS] [-c CXL-DEVICES] [-a PARAMETERS] [TEST]...
#
# KERNEL and IOMMU are as in machine.sh. Without arguments: all tests, on machines that have each
# pair of kernel, IOMMU and number of controllers once; tests of CXL memory, hdm*, on machines that
# have some. A test may name in its head the machines that it is for:
#
#   # machines: kernel      the first machine of each kernel; iommu: all that have one; old: one
#                           of the oldest kernel; cross: two that together have both kernels, with
#                           an IOMMU and without; all: none, but with ALL=1
#   # machines: noremap     one whose IOMMU interrupts pass by; rmrr: one whose firmware wants a
#                           controller to reach memory of its own; spaces: whose controllers have
#                           three namespaces (NAMESPACES=3); functions: whose controller has
#                           virtual functions (VFS=2); pair: none but with PAIR=1: two on
#                           one network, of which the far one's disk is offered to the near one,
#                           where the tests are
#   # machines: flat tree   two CXL devices below one host bridge, without an IOMMU; four below two
#                           bridges and a switch, with one. both: one device of both kinds
#
# ALL=1 in the environment: every combination, and every test on each, with all of its cases;
# HALF=nvme: not those on machines that have CXL memory; HALF=cxl: those alone. Lists as in -k
# 6.1,6.12 make a smaller matrix; KERNEL, IOMMU, NVME, CXL and APPEND in the environment are the
# same as the options; LONG=1 there: tests in their long form, where they have one; CXL_SHAPE,
# CXL_KIND and CPU are as in machine.sh; QEMU is as in build.sh. The tests are guest/NAME.sh and
# programs guest/NAME.c; docs/lab.md says how to write one.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/qemu/build.sh
. tests/qemu/build.sh
# shellcheck source=tests/qemu/machine.sh
. tests/qemu/machine.sh
# shellcheck source=tests/qemu/coverage.sh
. tests/qemu/coverage.sh

# Machines as KERNEL/IOMMU/NVME that have each pair once; without them, the lists say which.
pairs=
# Also machines that some of the tests are for.
odd=
if [ $# -eq 0 ]; then
	[ -n "${IOMMU:-}${CXL:-}" ] || odd=1
	[ -n "${IOMMU:-}${NVME:-}${CXL:-}${ALL:-}" ] || pairs='6.1/0/1 6.1/1/4 6.12/0/4 6.12/1/1'
	kernels=${KERNEL:-6.1,6.12} iommus=${IOMMU:-0,1} nvmes=${NVME:-1,4}
else
	kernels=${KERNEL:-6.12} iommus=${IOMMU:-0} nvmes=${NVME:-1}
fi
CXL=${CXL:-0}
while getopts k:i:n:c:a: option; do
	case $option in
	k) kernels=$OPTARG ;;
	i) iommus=$OPTARG ;;
	n) nvmes=$OPTARG ;;
	c) CXL=$OPTARG ;;
	a) APPEND=$OPTARG ;;
	*) sed -n 's/^#   run.sh/usage: run.sh/p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# Parts of tests, and tests on a machine of their own; leaks.sh looks for leaks of all others. After
# lockdown nothing is loaded.
parts='^(lib|intree|failing|far|format|lab|measure|nvmet|bench.*|leaks|hdmkexec|lockdown|suites)$'
tests=("$@")
if [ $# -eq 0 ]; then
	for file in "$here"/guest/*.sh "$here"/guest/*.c; do
		name=$(basename "${file%.*}")
		# A program with a script is run by the script.
		[[ $file != *.c ]] || [ ! -e "${file%.c}.sh" ] || continue
		[ ! -e "$file" ] || [[ $name =~ $parts ]] || tests+=("$name")
	done
	tests+=(leaks)
fi
programs=()
for name in "${tests[@]}"; do
	[ -e "$here/guest/$name.sh" ] || [ -e "$here/guest/$name.c" ] ||
		die "there is no test $name in $here/guest"
	for program in $(sed -n 's/^# programs: //p' "$here/guest/$name".*); do
		programs+=("$program")
	done
done

# What all of them may take.
limit_of()
{
	local name header own limit=60
	for name in "$@"; do
		header=$(head -n 20 "$here/guest/$name".*)
		own=
		[ "${LONG:-0}" != 1 ] || own=$(sed -n 's/^# long: \([0-9]*\)$/\1/p' <<<"$header")
		[ -n "$own" ] || own=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' <<<"$header")
		limit=$((limit + ${own:-30}))
	done
	echo $((limit * $(slowness)))
}

count=0
passed=0
failed=0
skipped=0

# verdict ok|"not ok" WORDS
verdict()
{
	count=$((count + 1))
	echo "$1 $count - $cell $2"
	case $1:$2 in
	not*) failed=$((failed + 1)) ;;
	*'# SKIP'*) skipped=$((skipped + 1)) ;;
	*) passed=$((passed + 1)) ;;
	esac
}

# since START - Seconds since then.
since()
{
	awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $1 }"
}

# A line that came from the guest.
judge()
{
	local line=$1 rc
	case $line in
	"begin "*)
		name=${line#begin }
		failed_before=$failed
		began=$EPOCHREALTIME
		;;
	"ok "*) verdict ok "$name: ${line#ok }" ;;
	"not ok "*) verdict "not ok" "$name: ${line#not ok }" ;;
	"skip "*) verdict ok "$name # SKIP ${line#skip }" ;;
	"end "*)
		rc=${line##* }
		ended+=" $name "
		# A script that broke off said why, if it was a claim that failed.
		[ "$rc" -eq 0 ] || [ $failed -gt $failed_before ] ||
			verdict "not ok" "$name: exit status $rc"
		[ "$rc" -ne 0 ] || [ -e "$here/guest/$name.sh" ] || verdict ok "$name"
		echo "# $name: $(since "$began") s"
		;;
	"gcov "*) coverage_take "$dir/gcov" "${line#gcov }" ;;
	"#"*) echo "$line" ;;
	esac
}

show()
{
	grep -qsv ': info: ' "$1" || return
	echo "# the last lines of $1:"
	tail -n 50 "$1" | tr -d '\r' | cut -c 1-160 | sed 's/^/#   | /'
}

qemu_pid=
far_pid=
trap 'for pid in $qemu_pid $far_pid; do kill "$pid"; done; exit 130' INT TERM

# QEMU without KVM may, rarely, lose the interrupt of a processor's timer. A kernel that sets the
# next one in its handler has none from then on, and notices.
lost_timer='Possible timer handling issue'

# stop_lost CONSOLE - End a machine as soon as that has happened, not when its time is over.
stop_lost()
{
	grep -qm 1 "$lost_timer" < <(tail --pid="$qemu_pid" -n +1 -F "$1" 2>/dev/null) &&
		kill "$qemu_pid"
}

# The other machine of a pair, in a folder of its own, as long as this one.
far_begin()
{
	mkdir "$dir/far"
	(
		cd "$dir/far" || exit 1
		SIDE=far APPEND="TESTS=far" machine "$kernel" "$initramfs"
		exec timeout -k 5 "$1" "${qemu[@]}" -serial file:console -serial file:port \
			</dev/null >qemu 2>&1
	) &
	far_pid=$!
}

far_end()
{
	[ -n "$far_pid" ] || return 0
	kill "$far_pid" 2>/dev/null
	wait "$far_pid"
	far_pid=
}

# A machine that lost its timer says nothing about the module: once more then.
run_cell()
{
	local dir=$build/qemu/run/$KERNEL-iommu$IOMMU-nvme$NVME-cxl$CXL

	boot_cell first || boot_cell last
}

# boot_cell first|last - Boot one machine, from start to verdict; fails if it is to be tried again.
boot_cell()
{
	local line how status again limit start=$EPOCHREALTIME
	local passed_cell=$passed failed_cell=$failed skipped_cell=$skipped
	limit=$(limit_of "${tests[@]}")
	cell="$(cat "$kernel/release")/iommu=$IOMMU/nvme=$NVME"
	[ "$CXL" = 0 ] || cell+="/cxl=$CXL${CXL_SHAPE:+,$CXL_SHAPE}${CXL_KIND:+,$CXL_KIND}"
	[ "${PAIR:-0}" = 0 ] || cell+="/pair"
	[ -z "${QEMU:-}" ] || cell+="/qemu=$QEMU"
	ended=
	name=
	failed_before=$failed
	exec 8>"$dir.lock" && flock -w 600 8 || die "another run.sh keeps $dir"
	rm -rf "$dir"
	mkdir -p "$dir" || exit 1
	[ "${PAIR:-0}" = 0 ] || far_begin "$limit"
	(
		cd "$dir" || exit 1
		[ "${PAIR:-0}" = 0 ] || SIDE=near
		APPEND="TESTS=$(IFS=,; echo "${tests[*]}") ${APPEND:-}" \
			machine "$kernel" "$initramfs"
		exec timeout -k 5 "$limit" "${qemu[@]}" -serial file:console \
			-serial unix:port,server=on,wait=on </dev/null >qemu 2>&1
	) &
	qemu_pid=$!
	stop_lost "$dir/console" &
	while IFS= read -r line; do
		judge "$line"
	done < <(qmp=$PWD/$here/qmp.py && cd "$dir" &&
		ANNEX=$build/guest/annex python3 "$qmp" qmp --serve port 2>serve)
	wait $qemu_pid
	status=$?
	how="QEMU ended with $status after $(since "$start") s, the console with: $(
		tail -n 1 "$dir/console" 2>/dev/null | tr -d '\r' | cut -c 1-100)"
	qemu_pid=
	far_end
	wait
	# No guest may crash the emulator.
	again=
	! grep -qs "$lost_timer" "$dir/console" || again="the emulator lost a processor's timer"
	! [[ $status =~ ^(134|139)$ ]] || again="the emulator crashed ($how)"
	if [ "$1" = first ] && [ -n "$again" ]; then
		exec 8>&-
		echo "# $cell: $again, so these claims do not count: once more"
		passed=$passed_cell failed=$failed_cell skipped=$skipped_cell
		return 1
	fi
	for name in "${tests[@]}"; do
		[[ $ended == *" $name "* ]] || verdict "not ok" "$name: runs to its end ($how)"
	done
	if [ $failed -gt $failed_cell ]; then
		show "$dir/qemu"
		show "$dir/serve"
		show "$dir/console"
		[ "${PAIR:-0}" = 0 ] || show "$dir/far/console"
		echo "# whole log: $dir/console"
	else
		# The disks are sparse, but not empty.
		rm -f "$dir"/disk* "$dir"/cxl* "$dir"/pmem* "$dir"/far/disk*
	fi
	coverage_add "$dir/gcov"
	exec 8>&-
	echo "# $cell: $(since "$start") s"
}

# here_too KERNEL - Whether a machine that some tests are for is to run with this kernel: in pairs,
# each runs with one.
here_too()
{
	[ -z "$pairs" ] || [ "$KERNEL" = "$1" ]
}

# fit WORDS TEST... - Set tests to the ones among them that are for a machine of this name.
fit()
{
	local names=$1 name wanted
	shift
	tests=()
	for name in "$@"; do
		wanted=$(sed -sn '1,20s/^# machines: //p' "$here/guest/$name".* | head -n 1)
		[ -n "$pairs" ] && [ -n "$wanted" ] && ! common "$names" "$wanted" ||
			tests+=("$name")
	done
}

# common WORDS WORDS - They have one in common.
common()
{
	local word
	for word in $2; do
		[[ " $1 " != *" $word "* ]] || return 0
	done
	return 1
}

# An IOMMU that interrupts pass by; one whose firmware has memory of its own; controllers with
# several namespaces, the first of which has one interrupt; one with virtual functions; two whose
# processor lets devices access each other.
odd_cells()
{
	local NVME=1 tests=(boot owners lockdown)
	! here_too 6.1 || IOMMU=noremap run_cell
	tests=(rmrr lockdown)
	! here_too 6.12 || IOMMU=rmrr NVME=2 run_cell
	tests=(ngspaces vector)
	! here_too 6.12 || NAMESPACES=3 VECTORS=1 IOMMU=0 run_cell
	tests=(functions)
	! here_too 6.12 || VFS=2 IOMMU=1 run_cell
	tests=(peer)
	! here_too 7.3 || CPU=max,family=23 IOMMU=0 NVME=2 run_cell
}

# Two devices that the kernel's own driver can be compared on; four below a switch and two bridges,
# behind an IOMMU; persistent memory behind the volatile; one whose DMA the kernel sends through
# buffers of its own; one whose kernel another one follows.
cxl_cells()
{
	local NVME=1 tests
	fit flat "${hdm[@]}"
	! here_too 6.12 || CXL=2 IOMMU=0 CPU=max,hypervisor=off run_cell
	fit tree "${hdm[@]}"
	! here_too 6.1 || CXL=4 IOMMU=1 CXL_SHAPE=tree CPU=max,hypervisor=off run_cell
	fit both "${hdm[@]}"
	! here_too 6.12 || CXL=1 IOMMU=0 CXL_KIND=both run_cell
	tests=(hdmbounce)
	! here_too 6.1 || CXL=1 IOMMU=0 APPEND="swiotlb=force ${APPEND:-}" run_cell
	tests=(hdmkexec)
	! here_too 6.12 || CXL=2 IOMMU=0 run_cell
}

most=()
hdm=()
for name in "${tests[@]}"; do
	if [ -n "$odd" ] && [[ $name == hdm* ]]; then
		hdm+=("$name")
	else
		most+=("$name")
	fi
done

mkdir -p "$build/qemu/run" || exit 1
initramfs=$build/qemu/run/initramfs.$$
trap 'rm -rf "$initramfs" "$initramfs.tree"' EXIT
echo "TAP version 13"
for KERNEL in ${kernels//,/ }; do
	build_guest "$KERNEL" "$initramfs" ${programs[@]+"${programs[@]}"}
	cells=()
	for IOMMU in ${iommus//,/ }; do
		for NVME in ${nvmes//,/ }; do
			cell=$KERNEL/$IOMMU/$NVME
			[ -n "$pairs" ] && [[ " $pairs " != *" $cell "* ]] || cells+=("$cell")
		done
	done
	names=kernel
	[ "${HALF:-}" != cxl ] || cells=()
	for cell in ${cells[@]+"${cells[@]}"}; do
		IFS=/ read -r KERNEL IOMMU NVME <<<"$cell"
		[ "$IOMMU" = 0 ] || names+=" iommu"
		case $KERNEL/$IOMMU in
		6.1/0) names+=" old cross" ;;
		6.12/1) names+=" cross" ;;
		esac
		fit "$names" "${most[@]}"
		run_cell
		names=
	done
	[ -z "$odd" ] || [ "${HALF:-}" = cxl ] || odd_cells
	[ -z "$odd" ] || [ "${HALF:-}" = nvme ] || cxl_cells
	coverage_tell
done
echo "1..$count"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

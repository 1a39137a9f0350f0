# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# For tests in which memory cannot be had: `. /test/failing.sh`. Skips the test where the kernel
# does not let allocations fail.

kinds="failslab fail_page_alloc fail_usercopy"
debug=/sys/kernel/debug

# fail_below FROM TO - Only calls made from there fail.
fail_below()
{
	for kind in $kinds; do
		echo "$1" >"$debug/$kind"/require-start &&
			echo "$2" >"$debug/$kind"/require-end || return 1
	done
}

# spare FUNCTION - What this function of the kernel calls for does not fail: it does not survive it.
# There is room for one.
spare()
{
	for kind in $kinds; do
		first "$1" >"$debug/$kind"/reject-start &&
			behind "$1" >"$debug/$kind"/reject-end || return 1
	done
}

# fail_in_module - What the module calls for.
fail_in_module()
{
	sort /proc/kallsyms | grep '\[annex\]$' | grep -i ' t ' >module
	from=$(head -n 1 module)
	to=$(tail -n 1 module)
	fail_below "0x${from%% *}" "0x${to%% *}"
}

# first SYMBOL, behind SYMBOL - The address of a function of the kernel, and of the next one.
first()
{
	awk -v name="$1" '$3 == name { print "0x" $1; exit }' symbols
}

behind()
{
	awk -v name="$1" 'found && $1 != from { print "0x" $1; exit }
		$3 == name { from = $1; found = 1 }' symbols
}

[ -e $debug/failslab/require-start ] ||
	skip "this kernel does not let allocations fail: make check-debug-kernels"

# Fail allocations that may sleep, and pages of user space, too, without messages.
for kind in $kinds; do
	echo 0 >"$debug/$kind"/verbose
	[ ! -e "$debug/$kind"/ignore-gfp-wait ] || echo N >"$debug/$kind"/ignore-gfp-wait
	[ ! -e "$debug/$kind"/ignore-gfp-highmem ] || echo N >"$debug/$kind"/ignore-gfp-highmem
	[ ! -e "$debug/$kind"/min-order ] || echo 0 >"$debug/$kind"/min-order
	# What fails further down comes back to the module in the same ways, from a thousand places.
	echo 12 >"$debug/$kind"/stacktrace-depth
done
sort /proc/kallsyms >symbols
# ACPI's interpreter, which is called for interrupts.
spare acpi_ns_evaluate

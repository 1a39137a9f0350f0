#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of the guest tests in the form of the kernel's kselftest: KTAP, and the exit status 0
# (all passed), 1 (one failed) or 4 (skipped). As root, on whatever machine:
#
#   kselftest.sh ADDRESS...
#
# or with ANNEX_DEVICES in the environment. The devices are bound to annex.ko, no program has them
# open, and their data may be lost. Programs are on the path, or in build/guest.
PATH=$PATH:$(dirname "$0")/../../build/guest
[ $# -gt 0 ] || set -- ${ANNEX_DEVICES:-}

# tests ADDRESS - Lines of a program and its arguments, by what the device is.
tests()
{
	case $(cat "/sys/bus/pci/devices/$1/class" 2>/dev/null) in
	0x010802) printf '%s\n' "ioctl $1" "view $1" ;;
	0x050210) printf '%s\n' "hdmcalls $1 /dev/null" "hdmapart $1" ;;
	esac
}

# What the programs claim, line by line, goes to their file 3.
echo "KTAP version 1"
if [ "$(id -u)" -ne 0 ] || [ $# -eq 0 ]; then
	echo "1..0 # SKIP it takes root, and the addresses of devices that are bound to annex.ko"
	exit 4
fi
list=$(for address in "$@"; do
	tests "$address"
done)
echo "1..$(echo "$list" | grep -c .)"
n=0
passed=0
failed=0
while read -r program address rest; do
	[ -n "$program" ] || continue
	n=$((n + 1))
	if [ ! -c "/dev/annex/$address" ]; then
		echo "ok $n $program $address # SKIP it is not bound to annex.ko"
	elif ! command -v "$program" >/dev/null; then
		echo "ok $n $program $address # SKIP make guest-build makes it"
	elif said=$("$program" "$address" ${rest:+"$rest"} 2>&1 3>&1 </dev/null); then
		passed=$((passed + 1))
		echo "ok $n $program $address"
	else
		failed=$((failed + 1))
		echo "$said" | grep -v '^ok' | sed 's/^/# /'
		echo "not ok $n $program $address"
	fi
done <<LIST
$list
LIST
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || exit 4

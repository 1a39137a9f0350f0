# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# For tests in a guest: `. /test/lib.sh`. Everything that leaves the guest goes through its second
# serial port, file 3, a line at a time.

report()
{
	echo "$*" >&3
}

# claim WORDS COMMAND... - The command succeeds; what it says is shown when it does not.
claim()
{
	words=$1
	shift
	if "$@" >/run/claim 2>&1; then
		report "ok $words"
		return 0
	fi
	report "not ok $words"
	report "# $*"
	head -n 20 /run/claim | cut -c 1-200 | sed 's/^/#   /' >&3
	return 1
}

# skip WORDS - End the test here, neither passed nor failed.
skip()
{
	report "skip $*"
	exit 0
}

# host COMMAND [KEY=VALUE]... - A command of QEMU's monitor, from the inside; one at a time.
host()
{
	report "@host $*"
	# shellcheck disable=SC3045 # busybox has it
	read -r -t 15 status answer <&3 || { echo "no answer from outside"; return 1; }
	echo "$answer"
	[ "$status" = ok ]
}

# pull N, plug N - Take the controller that is called nvmeN outside from its slot, put it back.
pull()
{
	host device_del "id=nvme$1"
}

# QEMU lets go of a controller a moment after the guest, so this may have to be tried again.
plug()
{
	# shellcheck disable=SC2046 # words are wanted
	host device_add driver=nvme "id=nvme$1" "bus=port$1" "drive=disk$1" \
		"serial=annex$1" $(echo "$NVME_OPTIONS" | tr , ' ')
}

uptime_s()
{
	read -r up _ </proc/uptime
	echo "${up%.*}"
}

# within SECONDS COMMAND... - The command comes to succeed before the time is over.
within()
{
	end=$(($(uptime_s) + $1))
	shift
	until "$@"; do
		[ "$(uptime_s)" -le $end ] || return 1
	done
}

# The kernel saw nothing wrong since the test began. Loading a module that Debian did not sign is
# nothing wrong.
clean_log()
{
	bad='WARNING|BUG|Oops|INFO: |general protection'
	! dmesg | grep -E "$bad|KASAN|KFENCE|UBSAN|DMA-API|DMAR: .*[Ff]ault"
}

# test_limit NAME - The seconds it may take, from a line "# limit: N" in it.
test_limit()
{
	limit=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' "/test/$1.sh" 2>/dev/null)
	echo "${limit:-30}"
}

# disk N - The in-tree driver's disk on the controller that is called nvmeN outside; the kernel
# numbers them in the order in which they are ready.
disk()
{
	for block in /sys/block/nvme*; do
		read -r serial <"$block/device/serial" && [ "$serial" = "annex$1" ] || continue
		# A path of a multipath disk has no device node.
		[ ! -b "/dev/${block##*/}" ] || { echo "/dev/${block##*/}"; return; }
	done 2>/dev/null
	return 1
}

# The PCI addresses of the NVMe controllers.
controllers()
{
	for device in /sys/bus/pci/devices/*; do
		[ "$(cat "$device/class")" != 0x010802 ] || echo "${device##*/}"
	done
}

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# For tests in a guest: `. /test/lib.sh`. Everything that leaves the guest goes through its second
# serial port, file 3, a line at a time. Times are for an ordinary kernel; SLOW, from the
# kernel's command line, is how many times longer they may be.

report()
{
	echo "$*" >&3
}

# Claims are counted outside.
claim_log=/run/claim
# shellcheck source=tests/claim.sh
. /test/claim.sh

ok()
{
	report "ok $1"
}

fail()
{
	report "not ok $1"
	shift
	report "# $*"
	head -n 20 $claim_log | cut -c 1-200 | sed 's/^/#   /' >&3
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
	outside "@host $*"
}

# outside WORDS - The same, to one of the machines.
outside()
{
	report "$*"
	# shellcheck disable=SC3045 # busybox has it
	read -r -t $((15 * SLOW)) status answer <&3 || { echo "no answer from outside"; return 1; }
	echo "$answer"
	[ "$status" = ok ]
}

# far_host COMMAND [KEY=VALUE]... - Of the other machine's monitor (machines: pair).
far_host()
{
	outside "@far $*"
}

# far COMMAND - A command of a shell on the other machine, for whose end this waits.
far()
{
	echo "($*) 2>&1; echo status=\$?" | nc -w $((10 * SLOW)) 10.0.0.1 9 >far_said || return 1
	sed '/^status=/d' far_said
	grep -q '^status=0$' far_said
}

# card N LAST - This machine's card on network N has an address there.
card()
{
	modprobe virtio_pci
	modprobe virtio_net
	for card in /sys/class/net/e*; do
		case $(cat "$card/address") in
		52:54:00:00:0$1:*) ip addr add "10.0.$1.$2/24" dev "${card##*/}" &&
			ip link set "${card##*/}" up ;;
		esac
	done
}

# connect N SECONDS - By network N; the disk goes when that is lost for so long.
connect()
{
	echo "transport=tcp,traddr=10.0.$1.1,trsvcid=4420,nqn=annex,\
reconnect_delay=1,ctrl_loss_tmo=$2,keep_alive_tmo=2" >/dev/nvme-fabrics
}

# far_disk - It is here: as $far_disk, a block device, and $far_node, a generic one.
far_disk()
{
	for far_disk in /dev/nvme*n*; do
		far_node=$(generic "$far_disk")
		[ -c "$far_node" ] && [ -b "$far_disk" ] && return
	done
}

# with_far - The other machine's disk, by network 0; skips the test where there is none.
with_far()
{
	[ "$SIDE" = near ] || skip "there is one machine"
	modprobe nvme_tcp
	echo 5 >/sys/module/nvme_core/parameters/admin_timeout
	card 0 2
	card 1 2
	claim "the far machine answers" within 60 far true || exit 1
	claim "its disk is connected" within 30 connect 0 60 || exit 1
	claim "and is here" within 10 far_disk || exit 1
}

# outside_files - The files of the machine outside are at /outside, to be read (machines: pair).
outside_files()
{
	modprobe 9pnet_virtio
	modprobe 9p
	mkdir -p /outside
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=131072,cache=loose,ro outside /outside
}

# pull N, plug N - Take the controller that is called nvmeN outside from its slot, put it back.
pull()
{
	host device_del "id=nvme$1"
}

# QEMU lets go of a controller a moment after the guest, so this may have to be tried again. It
# never lets go of the disk of one that was reset with commands in flight (they keep a reference to
# it), so the same file is opened again, beside the one that may still be open.
plug()
{
	read -r node _ </proc/uptime
	node=disk$1-${node%.*}${node#*.}
	file="{\"driver\":\"file\",\"filename\":\"disk$1\",\"locking\":\"off\"}"
	host blockdev-add driver=throttle "node-name=$node" "throttle-group=limit$1" \
		"file={\"driver\":\"raw\",\"file\":$file}" || return 1
	# shellcheck disable=SC2046 # words are wanted
	host device_add driver=nvme "id=nvme$1" "bus=port$1" "drive=$node" \
		"serial=annex$1" $(echo "$NVME_OPTIONS" | tr , ' ')
}

# bytes FILE AT TYPE N - A number of so many bytes of a configuration space, as od(1) has types.
bytes()
{
	od -An "-t$3$4" -j"$2" -N"$4" "$1" | tr -d ' '
}

# port ADDRESS - The configuration space of the port that a device is below.
port()
{
	echo "$(readlink -f "/sys/bus/pci/devices/$1/..")/config"
}

# slot PORT N - Bits 8 to 10 of a port's Slot Control: 1, its power indicator is on; 3, it is off;
# with 4 the slot has no power, which QEMU does not report: its device has ones for configuration
# space and zeros for registers. With 7 it is gone, with 5 it comes back.
slot()
{
	at=$(bytes "$1" 52 u 1)
	until [ "$at" -eq 0 ] || [ "$(bytes "$1" "$at" u 1)" -eq 16 ]; do
		at=$(bytes "$1" $((at + 1)) u 1)
	done
	[ "$at" -gt 0 ] || return 1
	at=$((at + 24))
	low=$(bytes "$1" "$at" u 1) high=$(($(bytes "$1" $((at + 1)) u 1) & ~7 | $2))
	# shellcheck disable=SC2059 # octal numbers
	printf "\\$(printf %o "$low")\\$(printf %o "$high")" |
		dd of="$1" bs=2 seek=$((at / 2)) conv=notrunc 2>/dev/null
}

# loses_power, has_power - The slot of $address.
loses_power()
{
	port=$(port "$address")
	slot "$port" 5 && hidden "$address"
}

has_power()
{
	slot "$port" 1 && echo 1 >/sys/bus/pci/rescan
}

# memory_space 0|1 - Whether the controller at $address answers to loads and stores: without, QEMU
# answers 0.
memory_space()
{
	file=/sys/bus/pci/devices/$address/config
	low=$(od -An -tu1 -j4 -N1 "$file")
	# shellcheck disable=SC2059 # an octal number
	printf "\\$(printf %o $(((low & ~2) | $1 * 2)))" |
		dd of="$file" bs=1 seek=4 conv=notrunc 2>/dev/null
	[ $(($(od -An -tu1 -j4 -N1 "$file") & 2)) -eq $(($1 * 2)) ]
}

# hidden ADDRESS - A device does not answer.
hidden()
{
	is "$(bytes "/sys/bus/pci/devices/$1/config" 0 x 4)" ffffffff
}

# word ADDRESS - 32 bits of physical memory, as the machine has them. With a blank written so, it is
# one word for the line to the outside.
word()
{
	host human-monitor-command "command-line=\"xp\\u0020/1xw\\u0020$1\"" |
		grep -o '0x[0-9a-f]*\\' | tr -d '\\'
}

uptime_s()
{
	read -r up _ </proc/uptime
	echo "${up%.*}"
}

# within SECONDS COMMAND... - The command comes to succeed before the time is over.
within()
{
	end=$(($(uptime_s) + $1 * SLOW))
	shift
	until "$@"; do
		[ "$(uptime_s)" -le $end ] || return 1
	done
}

# The kernel saw nothing wrong since the test began. Loading a module that Debian did not sign is
# nothing wrong; that Linux's pciehp takes two locks of its own in both orders is not ours. To map
# memory more than seven times at once is no error either: the kernel's checks of DMA count no
# further, and say so.
clean_log()
{
	dmesg >/run/log
	! suspect /run/log
}

# suspect FILE - Lines of a log that tell of something wrong; whether there are any.
suspect()
{
	bad='WARNING|BUG|Oops|INFO: |general protection'
	theirs='^$'
	! grep -q 'reset_lock.*at: pciehp_' "$1" || theirs='circular locking'
	! grep -q 'DMA-API: exceeded 7 overlapping mappings' "$1" ||
		theirs="$theirs|WARNING: .* add_dma_entry"
	# Linux 7.3 wants a lock when virtual functions go, which a driver's remove() cannot take:
	# some of its callers have it.
	! grep -q 'pci_iov_remove_virtfn' "$1" ||
		theirs="$theirs|WARNING: .* pci_stop_and_remove_bus_device"
	# A test lets the kernel's allocations fail, too: for entries of interrupts in /proc and, as
	# with VFIO, for the default domain.
	case ${KERNEL:-} in
	*-kasan) theirs="$theirs|WARNING: .* (remove_proc_entry|__iommu_release_dma_ownership)" ;;
	esac
	without_races "$1" | grep -Ev "$theirs" |
		grep -E "$bad|KASAN|KFENCE|UBSAN|DMA-API: .*:|DMAR: .*[Ff]ault|arm-smmu.*: event"
}

# without_races FILE - A log but for the races of the rest of the kernel: those reports, which end
# in a line of =, in whose stacks annex.ko is not; and that of a timer with the sleep that it ends,
# or of pinning a page with unpinning it.
without_races()
{
	awk '/BUG: KCSAN: / { report = 1; ours = 0; text = "" }
		/BUG: KCSAN: / { theirs = /hrtimer_(wakeup|active)|gup_fast_fallback \/ gup_put/ }
		!report { print; next }
		{ text = text $0 "\n" }
		/\[annex\]/ { ours = !theirs }
		/=====$/ { if (ours) printf "%s", text; report = 0 }' "$1"
}

# clean_but_faults - The same, but for commands of $address with addresses that are not its owner's,
# which the IOMMU reports: it is there for that.
clean_but_faults()
{
	dmesg >/run/log
	own="DMAR: \\[DMA .* Request device \\[(0000:)?${address#0000:}\\]"
	own="$own|DMAR: DRHD: handling fault|dmar_fault: "
	# An SMMU's event is several lines; the first word of it has the device's number above.
	# shellcheck disable=SC3057 # busybox has it
	number=$((0x${address:5:2} << 8 | 0x${address:8:2} << 3 | ${address:11}))
	sed "/arm-smmu.*: event/{N;/0x$(printf %08x $number)000000..\$/d}" /run/log |
		grep -vE "$own" >/run/others
	! suspect /run/others
}

# test_limit NAME - The seconds it may take, from a line "# limit: N" in it; from "# long: N" where
# LONG=1 asks for the long form of a test that has one.
test_limit()
{
	long=
	[ "${LONG:-0}" != 1 ] || long=$(number_in "$1" long)
	[ -n "$long" ] || long=$(number_in "$1" limit)
	echo $((${long:-30} * SLOW))
}

number_in()
{
	sed -n "s/^# $2: \([0-9]*\)$/\1/p" "/test/$1.sh" 2>/dev/null
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

# ctrl N - The in-tree driver's controller that is called nvmeN outside. Its number need not be that
# in the names of its disks, which is the subsystem's.
ctrl()
{
	for ctrl in /sys/class/nvme/nvme*; do
		read -r serial <"$ctrl/serial" && [ "$serial" = "annex$1" ] || continue
		[ ! -c "/dev/${ctrl##*/}" ] || { echo "/dev/${ctrl##*/}"; return; }
	done 2>/dev/null
	return 1
}

# generic DISK - The generic device of a disk, which has the same numbers.
generic()
{
	echo "/dev/ng${1#/dev/nvme}"
}

# The PCI addresses of the NVMe controllers.
controllers()
{
	for device in /sys/bus/pci/devices/*; do
		[ "$(cat "$device/class")" != 0x010802 ] || echo "${device##*/}"
	done
}

# The PCI addresses of the CXL memory devices.
cxl_devices()
{
	for device in /sys/bus/pci/devices/*; do
		[ "$(cat "$device/class")" != 0x050210 ] || echo "${device##*/}"
	done
}

# cxl N - The address of the one that is called cxlN outside, by its serial number.
cxl()
{
	for address in $(cxl_devices); do
		[ "$(serial "$address")" != "$(($1 + 1))" ] || { echo "$address"; return; }
	done
	return 1
}

# takes_range_pages - Whether the kernel's own drivers transfer to and from pages of a range. With
# DMA_API_DEBUG newer kernels refuse all pages of devices, and their nvme driver tries for ever.
takes_range_pages()
{
	[ ! -e /sys/kernel/debug/dma-api ] && return
	case $(uname -r) in
	6.1.* | 6.12.*) ;;
	*) false ;;
	esac
}

# serial ADDRESS - The low word of the Device Serial Number, in its extended capability.
serial()
{
	at=256
	config=/sys/bus/pci/devices/$1/config
	while [ $at -ge 256 ]; do
		# shellcheck disable=SC2046 # words are wanted
		set -- $(od -An -tu4 -j$at -N8 "$config")
		[ $(($1 & 65535)) -ne 3 ] || { echo "$2"; return; }
		at=$(($1 >> 20))
	done
	return 1
}

# with_hdm - Load annex.ko, with ranges that are shared, and hand it all CXL memory devices; cxl0 is
# at $first. Skips the test where there is none.
with_hdm()
{
	needs_module
	[ "$CXL" -gt 0 ] || skip "there is no CXL memory"
	claim "the module loads" modprobe annex allow_no_iommu=1 shared=1 || exit 1
	for address in $(cxl_devices); do
		claim "$address is bound" bind_cxl "$address" || exit 1
	done
	first=$(cxl 0)
}

# bind_cxl ADDRESS, unbind_cxl ADDRESS - As annex bind does it, for CXL memory.
bind_cxl()
{
	echo annex_cxl >"/sys/bus/pci/devices/$1/driver_override"
	echo "$1" >/sys/bus/pci/drivers_probe
	[ -c "/dev/annex/$1" ]
}

unbind_cxl()
{
	echo "$1" >/sys/bus/pci/drivers/annex_cxl/unbind
	echo >"/sys/bus/pci/devices/$1/driver_override"
	[ ! -e "/dev/annex/$1" ]
}

# bind_again - The controller leaves the driver and comes back, in use or not.
bind_again()
{
	echo "$address" >/sys/bus/pci/drivers/annex/unbind &&
		echo "$address" >/sys/bus/pci/drivers/annex/bind
}

# reset_outside - A function level reset, behind the module's back.
reset_outside()
{
	echo flr >"/sys/bus/pci/devices/$address/reset_method" &&
		echo 1 >"/sys/bus/pci/devices/$address/reset"
}

# devices_sleep - Without an end of the power: QEMU forgets its CXL bridges then.
devices_sleep()
{
	echo devices >/sys/power/pm_test && echo 0 >/sys/module/suspend/parameters/pm_test_delay &&
		echo mem >/sys/power/state
}

# vectors - Two to be added.
vectors()
{
	annex vadd gen a.f64 --size 512K && annex vadd gen b.f64 --size 512K --seed 2
}

# sum URI [OPTION]... - Their sum goes there, and all three are read again, each through a cache of
# half its size.
sum()
{
	annex vadd a.f64 b.f64 --overwrite --verify --cache 768K -o "$@"
}

# tell_buffers COMMAND... - Run it, and report its lines about buffers.
tell_buffers()
{
	"$@" >said.buffers 2>&1
	rc=$?
	cat said.buffers
	grep 'by a buffer' said.buffers | sed 's/^/# /' >&3
	return $rc
}

# range ADDRESS NAME - A fact of the range that a CXL memory device is in; empty without one.
range()
{
	cat "/sys/class/annex/annex!$1/range/$2"
}

# decoders ADDRESS - A line for each decoder that is committed, of the device and on the way to it.
decoders()
{
	cat "/sys/kernel/debug/annex/$1/decoders"
}

# no_range ADDRESS - It is in none, and nothing of one is left.
no_range()
{
	left=$(range "$1" base) && left=$left$(decoders "$1") && is "$left" ""
}

# users ADDRESS - How many would lose something if it were unbound.
users()
{
	cat "/sys/class/annex/annex!$1/hdm/users"
}

# nobody COMMAND... - Run it as a user other than root.
nobody()
{
	su nobody -s /bin/sh -c "$*"
}

# is GOT WANT
is()
{
	[ "$1" = "$2" ] || { echo "'$1', not '$2'"; return 1; }
}

# throttle N IOPS - Slow the disk of the controller that is called nvmeN outside down to so many
# commands a second; 0: as fast as it can. The disk stays slow when its controller is pulled.
throttle()
{
	host qom-set "path=/objects/limit$1" property=limits "value={\"iops-total\":$2}"
}

has_iommu()
{
	[ -e "/sys/bus/pci/devices/$1/iommu_group" ]
}

# Whether an IOMMU keeps the controller from everything that is not its owner's.
is_fenced()
{
	has_iommu "$1" && [ "$IOMMU" != noremap ]
}

needs_module()
{
	[ -n "$(find /lib/modules -name annex.ko)" ] ||
		skip "there is no Kbuild to make annex.ko from"
}

# with_module - Load annex.ko so that it can be used here, and hand it the first controller: $uri,
# at $address, with a fast disk. Ends the test if that fails.
with_module()
{
	needs_module
	address=$(controllers | head -n 1)
	uri=pci:$address
	parameter=allow_no_iommu=1
	! is_fenced "$address" || parameter=
	# shellcheck disable=SC2086 # none or one word
	claim "the module loads" modprobe annex $parameter || exit 1
	claim "a controller is bound" annex bind "$address" || exit 1
	throttle 0 0 >/dev/null
}

# count NAME - What the module has counted for $address.
count()
{
	cat "/sys/class/annex/annex!$address/count/$1"
}

# start COMMAND... - Run it beside the test, as $pid; `hears` reads its output, and file `errors`
# has its standard error. One at a time.
start()
{
	[ -p said ] || mkfifo said
	"$@" >said 2>errors &
	pid=$!
	exec 5<said
}

# hears SECONDS WORDS - The next line of the last started command begins so; it is $heard.
hears()
{
	heard=
	# shellcheck disable=SC3045 # busybox has it
	read -r -t $(($1 * SLOW)) heard <&5
	case $heard in
	"$2"*) return 0 ;;
	esac
	echo "not '$2' but '$heard'"
	cat errors
	return 1
}

# ended RC - The last started command ends with this exit status.
ended()
{
	wait "$pid"
	rc=$?
	exec 5<&-
	[ $rc -eq "$1" ] || { echo "exit status $rc"; cat errors; return 1; }
}

# refused WORDS COMMAND... - The command fails, and says why in one line, which has these words.
refused()
{
	refusal=$1
	shift
	! "$@" >refusal 2>&1 || { echo "it succeeded"; return 1; }
	cat refusal
	grep -q -e "$refusal" refusal && [ "$(wc -l <refusal)" -eq 1 ]
}

# pinned - How many pages are pinned, in the whole machine.
pinned()
{
	echo 1 >/proc/sys/vm/stat_refresh
	awk '/^nr_foll_pin_acquired / { n += $2 } /^nr_foll_pin_released / { n -= $2 }
		END { print n }' /proc/vmstat
}

# record, no_record - The module's tracepoints are recorded from now on, and no more.
record()
{
	echo >/sys/kernel/tracing/trace
	echo 1 >/sys/kernel/tracing/events/annex/enable
}

no_record()
{
	echo 0 >/sys/kernel/tracing/events/annex/enable
}

# recorded WORDS - One of them looks like that.
recorded()
{
	grep -E -e "$1" /sys/kernel/tracing/trace && return
	tail -n 15 /sys/kernel/tracing/trace
	return 1
}

# no_pins - None is. A child that was killed may end a moment after its parent, and io_uring lets go
# of the buffers of an earlier test in its own time.
no_pins()
{
	left=$(pinned)
	[ "$left" -eq 0 ] || { echo "$left pages are pinned"; return 1; }
}

# free_kb - Free memory, and memory that caches would give back. The kernel does not count each
# core's list of free pages, which may have 40 MiB.
free_kb()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >/proc/sys/vm/stat_refresh
	awk '$1 == "pages" && $2 == "free" { n += $3 } $1 == "count:" { n += $2 }
		END { print n * 4 }' /proc/zoneinfo
}

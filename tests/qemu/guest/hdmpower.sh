# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What a range is told of its device: no sleep while it is used, resets and errors of the bus, a
# removal that does not wait for long, and memory that firmware has given out before.
# machines: flat
# limit: 180
. /test/lib.sh

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

hold()
{
	start hdm hold "$1" go "${2:-0}" && hears 20 holding
}

logged()
{
	dmesg | grep "$1"
}

# A hot reset of the bus below the device's port. Newer kernels want a port to allow it.
reset_bus()
{
	echo cxl_bus >"/sys/bus/pci/devices/$first/reset_method" ||
		echo bus >"/sys/bus/pci/devices/$first/reset_method" || return 1
	echo 1 >"/sys/bus/pci/devices/$first/reset"
}

media_event()
{
	host cxl-inject-general-media-event path=/machine/peripheral/cxl0 log=failure flags=1 \
		dpa=4096 descriptor=3 type=2 transaction-type=1
}

uptime_ms()
{
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}

# config AT - 16 bits of its configuration.
config()
{
	od -An -tu2 "-j$1" -N2 "/sys/bus/pci/devices/$first/config" | tr -d ' '
}

# control - Where the DVSEC of CXL devices has its control register.
control()
{
	at=256
	while [ $at -ge 256 ]; do
		[ "$(config $at)" -ne 35 ] || [ "$(config $((at + 4)))" -ne 7832 ] ||
			[ "$(config $((at + 8)))" -ne 0 ] || { echo $((at + 12)); return; }
		at=$(($(config $((at + 2))) >> 4))
	done
	return 1
}

# cxl_mem 0|1 - Mem_Enable, as firmware sets it.
cxl_mem()
{
	at=$(control) || return 1
	low=$(($(config "$at") & 255))
	# shellcheck disable=SC2059 # an octal number
	printf "\\$(printf %o $(((low & ~4) | $1 * 4)))" |
		dd of="/sys/bus/pci/devices/$first/config" bs=1 seek="$at" conv=notrunc 2>/dev/null
	[ $(($(config "$at") & 4)) -eq $(($1 * 4)) ]
}

lost_ranges()
{
	dmesg | grep -c "the range ends, data is lost"
}

# What ends its range, which another one can follow: loses WORDS COMMAND... The line names the error
# or the reset, whichever the module's work sees.
loses()
{
	lost=$(lost_ranges)
	claim "a range is held" hold "$first"
	claim "its memory can be read" says "touch 0x1000" byte
	claim "$@"
	claim "its range ends, which is said" within 5 eval '[ $(lost_ranges) -gt $lost ]'
	claim "so its memory is SIGBUS" within 5 says "touch 0x1000" SIGBUS
	echo end >&6
	claim "its user ends" ended 0
	claim "nothing is left" within 5 no_range "$first"
}

gave_up()
{
	dmesg | grep "AER: device recovery failed"
}

# cut_off - An error of its port, while its slot has no power. Afterwards its registers are empty.
cut_off()
{
	dmesg -c >/dev/null
	port=$(port "$first")
	slot "$port" 5 && hidden "$first" && host aer port=cxlport0 error=DLP &&
		within 20 gave_up && slot "$port" 1 && ! hidden "$first"
}

with_hdm
mkfifo go
exec 6<>go
claim "a range is held" hold "$first"
claim "the machine does not sleep" eval "! devices_sleep"
claim "which is said" logged "cannot suspend: the range of the device is in use"
claim "its memory can be read" says "touch 0x1000" byte
echo end >&6
claim "its user ends" ended 0
claim "now the machine sleeps" devices_sleep
claim "and there can be a range again" within 5 hdm fill "$first" 0

loses "its bus is reset" reset_bus
claim "there can be another" within 5 hdm fill "$first" 0
start hdm wait "$first"
claim "a reader of its events waits" hears 20 waiting
claim "the device has an event" media_event
claim "the reader has it, after the reset" hears 10 "event 2"
kill $pid
claim "it is told to end" ended 143
loses "its port has a fatal error" host aer port=cxlport0 error=DLP
claim "there can be another" within 5 hdm fill "$first" 0
claim "its port has a fatal error, and the kernel gives up" cut_off
claim "a device that is cut off has no range" \
	refused "Resource temporarily unavailable" hdm fill "$first" 0
claim "it is bound again" eval 'unbind_cxl "$first" && bind_cxl "$first"'
claim "there can be a range" hdm fill "$first" 0

claim "a range with an uncached part is held" hold "$first" 0x200000
base=$(range "$first" base)
table=$((base + $(range "$first" bytes) - 0x200000))
claim "a pipe has a page of it" says "pin 0x3000" pinned
claim "an uncached piece is taken" says "piece 0" "piece 0"
claim "their table is valid" eval '[ $(word $table) != 0x00000000 ]'
claim "the device is taken away" unbind_cxl "$first"
claim "the log says that pages are held" logged "removed while pages of its range are held"
claim "the table has ended" eval 'is $(word $table) 0x00000000'
claim "the pipe is emptied" says drop dropped
echo end >&6
claim "its user ends" ended 0
claim "its addresses are free" within 5 eval '! grep "${base#0x}-.* : annex" /proc/iomem'
claim "its bus is reset" reset_bus
claim "all of it, which QEMU forgets" cxl_mem 0
claim "it is bound again" bind_cxl "$first"
claim "there can be another" hdm fill "$first" 0

start hdm crowd "$first" 2000
claim "2000 files map a page of a range" hears 60 crowded
before=$(uptime_ms)
claim "the device is taken away" unbind_cxl "$first"
took=$(($(uptime_ms) - before))
report "# unbound in $took ms"
claim "in a second at most" [ $took -le $((1000 * SLOW)) ]
kill -KILL $pid
claim "its users end" ended 137
claim "its bus is reset" reset_bus
claim "it is bound again" bind_cxl "$first"

claim "firmware gives its memory out" cxl_mem 1
claim "which is respected" refused "Device or resource busy" hdm fill "$first" 0
claim "and said" logged "firmware has 0x.* bytes at 0x0 by DVSEC range 1"
claim "firmware takes it back" cxl_mem 0
claim "there can be a range again" hdm fill "$first" 0
claim "it unloads" rmmod annex

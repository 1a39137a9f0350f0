# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller that is reset while threads read from it, by the library for commands that come too
# late, by another program, or for an error of PCI Express: every call ends in its time, with the
# right data.
# limit: 180
# long: 300
. /test/lib.sh

rounds=3
[ "${LONG:-0}" != 1 ] || rounds=60
late_ms=500

resets_since()
{
	[ "$(count resets)" -gt "$1" ]
}

# The disk gets stuck, for as long as it takes commands to be late, and goes on.
stuck()
{
	before=$(count resets)
	throttle 0 1 && within 10 resets_since "$before" && throttle 0 0
}

stuck_often()
{
	for i in $(seq $rounds); do
		stuck || { echo "in round $i"; cat errors; return 1; }
	done
}

some_late()
{
	[ "${heard#* late 0 }" = "$heard" ] || { echo "$heard"; return 1; }
}

# A call is 16 commands: one timeout, one abort for it, the reset, and again for what other threads
# had to be ended for; the library gives an abort 1 s, twice.
longest_under()
{
	[ "${heard##* }" -lt "$1" ] || { echo "$heard"; return 1; }
}

# What befalls it, while threads read: befalls WORDS COMMAND...
befalls()
{
	start life load "$uri" $late_ms term
	claim "threads read and verify" hears 20 loaded
	before=$(count resets)
	claim "$@"
	claim "it is brought back" within 20 resets_since "$before"
	claim "the threads are told to end" kill -TERM $pid
	claim "they do, after a call that succeeds" hears 20 verified
	report "# $heard; resets $(count resets)"
	claim "there were late calls" some_late
	claim "no call took more than 15 s" longest_under 15000
	claim "the device can be closed" ended 0
	claim "the data is whole" life check "$uri"
}

# cut_off - QEMU's port does not come back from the reset of its bus. Until the PCI core resets the
# controller itself it is no bus master.
cut_off()
{
	dmesg -c >/dev/null
	host aer port=port0 error=DLP && within 20 gave_up && is "$(master)" 0
}

gave_up()
{
	dmesg | grep "AER: device recovery failed"
}

cut_off_and_reset()
{
	cut_off && reset_outside
}

# master - Bit 2 of the command register.
master()
{
	echo $(($(bytes "/sys/bus/pci/devices/$address/config" 4 u 2) >> 2 & 1))
}

recovered()
{
	dmesg | grep "AER: device recovery successful"
}

bind_again()
{
	echo "$address" >/sys/bus/pci/drivers/annex/unbind &&
		echo "$address" >/sys/bus/pci/drivers/annex/bind
}

with_module
claim "a pattern is written" life fill "$uri"
pins=$(pinned)

start life load "$uri" $late_ms term
claim "threads read and verify" hears 20 loaded
claim "the disk gets stuck $rounds times, and the controller is reset" stuck_often
claim "the threads are told to end" kill -TERM $pid
claim "they do, after a call that succeeds" hears 20 verified
report "# $heard; resets $(count resets)"
claim "there were late calls" some_late
claim "no call took more than 10 s" longest_under 10000
claim "the device can be closed" ended 0
claim "the data is whole" life check "$uri"

befalls "another program resets it" reset_outside
befalls "its port has a fatal error, the kernel gives up, and it is reset" cut_off_and_reset

start life load "$uri" $late_ms term
claim "threads read and verify" hears 20 loaded
claim "its port has a fatal error, and the kernel gives up" cut_off
claim "the owner is killed" kill -KILL $pid
claim "it ends" ended 137
claim "the controller is still no bus master" is "$(master)" 0
claim "no program can open it" refused "Resource temporarily unavailable" life check "$uri"
claim "it is bound again" bind_again
claim "the data is whole" life check "$uri"

start life load "$uri" $late_ms term
claim "threads read and verify" hears 20 loaded
before=$(count resets)
claim "its port has an error that is not fatal" host aer port=port0 error=UNSUP
claim "the kernel recovers" within 20 recovered
claim "the threads are told to end" kill -TERM $pid
claim "they do, after a call that succeeds" hears 20 verified
claim "the device can be closed" ended 0
claim "it was reset for the close alone" is "$(count resets)" $((before + 1))
claim "no page stays pinned" [ "$(pinned)" -eq "$pins" ]
claim "the module unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller whose machine sleeps while threads read from it, as deeply as it can, without power
# for its devices: it is brought up after, and the data read is right. Last by its name: in
# QEMU, ACPI's events do not come back from such a sleep.
# machines: kernel
# limit: 150
. /test/lib.sh

# It wakes by its clock, or by the host if that rings before it sleeps.
sleeps()
{
	host wake && echo 0 >/sys/class/rtc/rtc0/wakealarm &&
		echo +$((5 * SLOW)) >/sys/class/rtc/rtc0/wakealarm &&
		echo mem >/sys/power/state
}

resets_since()
{
	[ "$(count resets)" -gt "$1" ]
}

with_module
claim "a pattern is written" life fill "$uri"
pins=$(pinned)
start life load "$uri" 500 term
claim "threads read and verify" hears 20 loaded
before=$(count resets)
claim "the machine sleeps" sleeps
claim "the controller was brought up again" resets_since "$before"
claim "the threads are told to end" kill -TERM $pid
claim "they do, after a call that succeeds" hears 20 verified
report "# $heard; resets $(count resets)"
claim "the device can be closed" ended 0
claim "the data is whole" life check "$uri"
claim "the machine sleeps without an owner" sleeps
claim "the data is whole" life check "$uri"
claim "no page stays pinned" [ "$(pinned)" -eq "$pins" ]
claim "the module unloads" rmmod annex

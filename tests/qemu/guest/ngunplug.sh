# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A drive of the kernel's that is pulled while threads read from it through the kernel's driver, or
# that does not answer any more: every wait ends with an error, and the next drive works.
# machines: cross
# limit: 180
. /test/lib.sh

[ "$KERNEL" != 6.12-kasan ] || skip "the kernel's driver releases a queue's lock in another task"

gone() { ! disk 0; }

# there - The disk and its generic device; sets uri.
there()
{
	disk=$(disk 0) && uri=ng:$(generic "$disk") && [ -c "${uri#ng:}" ]
}

# comes_back - A drive that was pulled.
comes_back()
{
	claim "the disk disappears within 15 s" within 15 gone
	claim "the disk is as fast as ever" throttle 0 0
	claim "a drive is plugged in" within 5 plug 0
	claim "it appears within 30 s" within 30 there
	claim "the data is whole" life check "$uri"
}

modprobe nvme
claim "the disk is there" within 10 there || exit 1
throttle 0 0 >/dev/null
claim "a pattern is written" life fill "$uri"

start life load "$uri" 60000 gone
claim "threads read and verify" hears 20 loaded
claim "the drive is pulled" pull 0
claim "all waits end within 20 s" hears 20 verified
claim "and the device can be closed" ended 0
claim "it cannot be opened" refused "No such" life check "$uri"
comes_back

# recovered - The kernel has reset the drive once more.
recovered()
{
	[ "$(dmesg | grep -c 'nvme[0-9]*: .*timeout, reset controller')" -gt "$resets" ]
}

# The kernel's timeout ends the waits: it asks for an abort, and resets the drive, which answers
# again then.
address=$(controllers | head -n 1)
resets=$(dmesg | grep -c 'nvme[0-9]*: .*timeout, reset controller')
start life load "$uri" 4000 term
claim "threads read and verify" hears 20 loaded
claim "the drive does not answer any more" memory_space 0
claim "the kernel resets it" within 20 recovered
kill $pid
claim "all waits end within 40 s" hears 40 verified
echo "# $heard" >&3
claim "some were late" [ "${heard##* late 0 *}" ]
claim "and the device can be closed" ended 0
claim "the data is whole" life check "$uri"
claim "no page stays pinned" within 5 no_pins
claim "the driver unloads" within 10 rmmod nvme

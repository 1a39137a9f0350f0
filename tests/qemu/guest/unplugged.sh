# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller that is pulled, loses its power, or hangs for good, while threads read from it: every
# wait ends with an error, and the next controller works.
# machines: cross
# limit: 120
# long: 180
. /test/lib.sh

gone()
{
	[ ! -e "/sys/bus/pci/devices/$address" ] && [ ! -e "/dev/annex/$address" ]
}

back()
{
	[ "$(controllers | head -n 1)" = "$address" ]
}

# comes_back COMMAND... - By this.
comes_back()
{
	claim "the controller disappears within 15 s" within 15 gone
	claim "the module unloads" rmmod annex
	claim "the disk is as fast as ever" throttle 0 0
	claim "a controller comes" within 5 "$@"
	claim "it appears within 5 s" within 5 back
	with_module
	claim "the data is whole" life check "$uri"
}

with_module
claim "a pattern is written" life fill "$uri"
pins=$(pinned)

# The kernel notices only when it is told to look: only timeouts of the library can end the waits.
start life load "$uri" 1000 gone
claim "threads read and verify" hears 20 loaded
claim "the controller loses its power without notice" loses_power
claim "all waits end within 40 s" hears 40 verified
claim "and the device can be closed" ended 0
claim "no new owner gets it" refused "" life check "$uri"
echo 1 >"/sys/bus/pci/devices/$address/remove"
comes_back has_power

start life load "$uri" 60000 gone
claim "threads read and verify" hears 20 loaded
claim "the controller is pulled" pull 0
claim "all waits end within 15 s" hears 15 verified
claim "and the device can be closed" ended 0
comes_back plug 0

# Now nothing ends by itself: only the removal can end the waits.
start life load "$uri" 60000 gone
claim "threads read and verify" hears 20 loaded
claim "the disk is as good as stopped" throttle 0 1
claim "the controller is pulled" pull 0
claim "all waits end within 15 s, not after the timeout of 60 s" hears 15 verified
claim "and the device can be closed" ended 0
comes_back plug 0

# A controller whose registers are not all ones has its time: 5 s for the abort, for coming back
# CAP.TO, here 7.5 s.
hangs()
{
	start life load "$uri" 1000 gone
	claim "threads read and verify" hears 20 loaded
	claim "the controller does not answer any more" memory_space 0
	claim "all waits end within 40 s" hears 40 verified
	claim "and the device can be closed" ended 0
	claim "no new owner gets it" refused "" life check "$uri"
	claim "the module unloads" rmmod annex
	claim "the controller answers again" memory_space 1
	with_module
	claim "the data is whole" life check "$uri"
}

[ "${LONG:-0}" != 1 ] || hangs
claim "no page stays pinned" [ "$(pinned)" -eq "$pins" ]
claim "the module unloads" rmmod annex

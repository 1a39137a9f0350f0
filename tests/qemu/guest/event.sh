# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller reports errors and warnings to each file that waits for them, also after resets.
# machines: cross
# limit: 90
. /test/lib.sh

warn()
{
	host qom-set path=/machine/peripheral/nvme0 property=smart_critical_warning "value=$1"
}

# The program that was started last has a file of the controller open: it misses no event.
waits()
{
	for file in "/proc/$pid"/fd/*; do
		[ "$(readlink "$file")" != "/dev/annex/$address" ] || return 0
	done
	return 1
}

gave_up()
{
	dmesg | grep "AER: device recovery failed"
}

cut_off()
{
	dmesg -c >/dev/null
	host aer port=port0 error=DLP && within 20 gave_up
}

unbind()
{
	echo "$address" >/sys/bus/pci/drivers/annex/unbind
}

with_module
record
start event "$address"
claim "events reach files" hears 40 waiting
claim "the controller is unbound" unbind
claim "a file that waits is told" ended 0
no_record
claim "a warning is traced" recorded "annex_event: .*$address type=1 info=1 log=2"
claim "and an error" recorded "annex_event: .*$address type=0 info=[0-9]* log=1"
claim "the controller is bound again" annex bind "$address"

claim "it has no warnings" warn 0
start annex health "$uri" --wait
claim "a program waits for events" within 5 waits
claim "another program resets the controller" reset_outside
claim "the controller has a warning" warn 8
claim "the waiting program tells it" hears 20 device
claim "the warning too" hears 1 "critical warnings  read only"
claim "it ends" ended 0

claim "the controller has no warnings" warn 0
start annex health "$uri" --wait
claim "a program waits for events" within 5 waits
claim "its port has a fatal error, and the kernel gives up" cut_off
claim "another program resets it" reset_outside
claim "the controller has a warning" warn 4
claim "the waiting program tells it" hears 20 device
claim "it ends" ended 0
claim "the controller is bound again, while the warning lasts" bind_again

start annex health "$uri" --wait
claim "a program waits for events" within 5 waits
claim "the controller is unbound" unbind
claim "the program ends" ended 1
claim "it says why" grep "was removed" errors
claim "the warning ends" warn 0
claim "it unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# However its users end, a range is given back; and a device can be taken away from under them.
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
	start hdm hold "$1" go && hears 20 holding
}

idle()
{
	no_range "$first" && is "$(users "$first")" 0
}

# Nothing of the range is left.
taken_away()
{
	base=$(range "$first" base)
	base=${base#0x}
	grep "$base-.* : annex" /proc/iomem && unbind_cxl "$first" &&
		! grep "$base-.* : annex" /proc/iomem
}

fails()
{
	wait "$pid"
	rc=$?
	exec 5<&-
	[ $rc -eq 1 ] || [ $rc -eq 135 ]
}

# Ranges that begin while others end.
often()
{
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		hdm time "$first" || return 1
	done
}

with_hdm
mkfifo go
exec 6<>go
claim "a range is held" hold "$first"
claim "that is seen from outside" is "$(users "$first")" 1
kill -KILL "$pid"
claim "its user is killed" ended 137
claim "the range is given back" idle

claim "a range is held" hold "$first"
claim "a pipe has a page of it" says "pin 0x2000" pinned
claim "its user has it mapped no more" says unmap unmapped
claim "and closes it" says close closed
claim "the page is still held" is "$(range "$first" ended)" 1
claim "so there can be no other range" refused "Device or resource busy" hdm verify "$first" 0
claim "nor can the module go" refused "temporarily unavailable" rmmod annex
claim "the pipe is emptied" says drop dropped
claim "then the range is given back" within 5 idle
echo end >&6
claim "its user ends" ended 0

claim "a range is held" hold "$first"
claim "its memory can be read" says "touch 0x1000" byte
claim "the device is taken away" taken_away
claim "an access gets SIGBUS" says "touch 0x1000" SIGBUS
echo end >&6
claim "its user ends" ended 0
claim "it is bound again" bind_cxl "$first"

claim "a range is held" hold "$first"
claim "a pipe has a page of it" says "pin 0x3000" pinned
unbind_cxl "$first" &
unbinding=$!
claim "its memory ends" within 5 says "touch 0x1000" SIGBUS
claim "removal waits" kill -0 $unbinding
claim "the pipe is emptied" says drop dropped
claim "the device is gone" wait $unbinding
echo end >&6
claim "its user ends" ended 0
claim "it is bound again" bind_cxl "$first"

address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
start hdm dmabuf "$first" "pci:$address" on
claim "its queues are in CXL memory" hears 20 running
resets=$(count resets)
claim "the device is taken away from under it" taken_away
claim "its user has SIGBUS from his queues" ended 135
# For the dma-buf, or when its file was closed: wait() of its parent does not wait for either.
claim "the controller was reset for it" within 5 eval '[ "$(count resets)" -gt "$resets" ]'
claim "it is bound again" bind_cxl "$first"
claim "all works as before" hdm dmabuf "$first" "pci:$address"
if [ "$CXL" -gt 1 ]; then
	claim "a range of two is held" hold "$first,$(cxl 1)"
	claim "one is taken away" unbind_cxl "$(cxl 1)"
	claim "which ends the range" says "touch 0x1000" SIGBUS
	claim "of both" eval 'is "$(range "$first" base)" ""'
	echo end >&6
	claim "its user ends" ended 0
fi
if takes_range_pages; then
	modprobe nvme
	claim "it is unbound" annex unbind "$address"
	claim "the kernel's driver has the disk" within 5 disk 0
	start hdm direct "$first" "$(disk 0)" on
	claim "direct transfers go there and back" hears 20 running
	claim "the device is taken away" taken_away
	claim "a transfer fails" fails
	claim "it is bound again" bind_cxl "$first"
	rmmod nvme
fi

often >errors2 2>&1 &
often >errors1 2>&1 &
claim "ranges come and go" often
claim "for another as well" wait $!
wait
claim "and no process saw an error" eval '! grep -v "^[0-9]*$" errors1 errors2'
claim "nothing is left" idle
claim "it unloads" rmmod annex

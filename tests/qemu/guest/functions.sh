# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Virtual functions of a controller: each has an owner of its own, with queues of its own, and sees
# the same disk.
# machines: functions
# limit: 90
. /test/lib.sh

functions()
{
	echo "$1" >"$folder/sriov_numvfs"
}

refuses()
{
	! functions "$1" 2>/dev/null && has 0
}

has()
{
	[ "$(cat "$folder/sriov_numvfs")" -eq "$1" ]
}

# function_at N - The address of a virtual function, from 0 on.
function_at()
{
	basename "$(readlink -f "$folder/virtfn$1")"
}

# pairs ADDRESS - Queue pairs of a controller, by the log.
pairs()
{
	dmesg | sed -n "s/.*annex!$1: \\([0-9]*\\) queue pairs.*/\\1/p" | tail -n 1
}

# bind_directly - As annex bind, without its own checks.
bind_directly()
{
	echo "$address" >/sys/bus/pci/drivers/nvme/unbind
	echo annex >"$folder/driver_override"
	echo "$address" >/sys/bus/pci/drivers/annex/bind
}

refuses_others()
{
	! bind_directly 2>/dev/null && dmesg | grep "another driver has left virtual functions"
}

back_to_nvme()
{
	echo >"$folder/driver_override"
	echo "$address" >/sys/bus/pci/drivers/nvme/bind
	within 10 disk 0 && functions 0 && rmmod nvme
}

[ "$VFS" -gt 0 ] || skip "the controller has no virtual functions"
needs_module
address=$(controllers | head -n 1)
folder=/sys/bus/pci/devices/$address
modprobe nvme
claim "the kernel's driver has the disk" within 10 disk 0
claim "it makes virtual functions" functions 1
modprobe annex allow_no_iommu=1
claim "the tool does not bind it" refused "has virtual functions: echo 0 > " annex bind "$address"
claim "nor does the module" refuses_others
claim "they end" back_to_nvme
rmmod annex
with_module
claim "the pattern is written" life fill "$uri"
start life load "$uri" 3000 term
claim "an owner reads and verifies" hears 20 loaded
claim "there are no virtual functions beside an owner" refuses 2
kill -TERM "$pid"
claim "the owner ends" ended 0
claim "there are not more than the controller has" refuses $((VFS + 1))
claim "two begin" functions 2
claim "they are there" has 2
claim "the physical function has no owner then" refused "another program has it open" \
	life check "$uri"
claim "but tells its health" annex health "$uri"
first=$(function_at 0)
second=$(function_at 1)
for function in $first $second; do
	claim "$function is bound" annex bind "$function"
done
claim "a function has its share of the queue pairs" [ "$(pairs "$first")" -eq $((VFS - 1)) ]
claim "the first sees the pattern" life check "pci:$first"
start life load "pci:$first" 3000 term
claim "it has an owner" hears 20 loaded
claim "beside it, the second has another one" life check "pci:$second"
claim "the physical function is reset" eval "echo 1 >$folder/reset"
claim "beside the owner of the first, the second sees the pattern" life check "pci:$second"
for i in 1 2 3; do
	claim "the machine sleeps" devices_sleep
	claim "the second sees the pattern" life check "pci:$second"
done
kill -TERM "$pid"
claim "the first's owner has recovered" ended 0
start life load "pci:$second" 3000 gone
claim "the second has an owner" hears 20 loaded
claim "the functions end, also with an owner" functions 0
claim "they are gone" has 0
claim "the owner ends well" ended 0
claim "the physical function has an owner again" life check "$uri"
claim "they begin again" functions 1
claim "it unloads" rmmod annex
claim "with it, they are gone" has 0

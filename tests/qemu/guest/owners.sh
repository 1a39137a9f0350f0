# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller has one owner, with the right to be it, and neither the module nor the controller
# goes away under it unnoticed.
# limit: 150
. /test/lib.sh

module_stays()
{
	! rmmod annex && [ -e /sys/module/annex ]
}

unbind()
{
	echo "$address" >"/sys/bus/pci/drivers/annex/unbind"
}

gone()
{
	[ ! -e "/dev/annex/$address" ]
}

tainted()
{
	[ $(($(cat /proc/sys/kernel/tainted) & 64)) -ne 0 ]
}

# Without an IOMMU the owner can reach all memory, and without interrupt remapping
# it can raise interrupts of other devices, so that takes a decision and a right.
no_fence()
{
	claim "the module loads as it is by default" modprobe annex
	claim "a controller is bound" annex bind "$address"
	claim "without a full IOMMU no user may open it, not even root" \
		refused "refused by annex.ko" life check "pci:$address"
	claim "it unloads" rmmod annex
}

needs_module
address=$(controllers | head -n 1)
is_fenced "$address" || no_fence
with_module
claim "a pattern is written" life fill "$uri"
is_fenced "$address" || claim "that taints the kernel" tainted

claim "only root has the right to open it" refused "no permission to open" \
	nobody life check "$uri"
chmod 666 "/dev/annex/$address"
if is_fenced "$address"; then
	# shellcheck disable=SC3045 # busybox has it
	ulimit -l unlimited
	claim "a full IOMMU lets others have it" nobody life check "$uri"
else
	claim "without it, that takes more than permission" refused "refused by annex.ko" \
		nobody life check "$uri"
fi

start life load "$uri" 30000 term
claim "an owner reads and verifies" hears 20 loaded
claim "there is no second one" refused "another program has it open" life check "$uri"
head -c 4096 /dev/zero >block
claim "annex says the same" refused "another program has it open" \
	annex copy block "$uri" --overwrite
claim "nor another driver" refused "process" annex unbind "$address"
claim "the module does not unload" module_stays
claim "the owner is told to end" kill -TERM $pid
claim "it has seen nothing of this" hears 20 verified
claim "it has not lost a command" [ "${heard#*late 0 }" != "$heard" ]
claim "it ends well" ended 0
claim "the next one opens" life check "$uri"

start life load "$uri" 60000 gone
claim "an owner reads and verifies" hears 20 loaded
claim "the controller is taken from it" timeout -s KILL 10 sh -c \
	"echo $address >/sys/bus/pci/drivers/annex/unbind"
claim "all its waits end" hears 10 verified
claim "it ends well" ended 0
claim "the device node has gone" gone

claim "the controller is bound again" annex bind "$address"
start life flight "$uri" 0 wait
claim "an owner has it" hears 20 flying
claim "the controller is taken from it" unbind
claim "the owner still has the file: the module does not unload" module_stays
claim "the owner is killed" kill -KILL $pid
claim "it ends" ended 137
claim "the controller is bound again" annex bind "$address"
claim "the data is whole" life check "$uri"
claim "it unloads" rmmod annex

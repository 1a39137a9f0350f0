# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A kernel that is locked down after the module was loaded opens no controller that could reach all
# memory, to root neither; one behind a full IOMMU is its owner's as ever. There is no way back, so
# this is the last test of a boot.
# machines: noremap rmrr
# limit: 90
. /test/lib.sh

lockdown=/sys/kernel/security/lockdown
needs_module
mount -t securityfs securityfs /sys/kernel/security
[ -e $lockdown ] || skip "this kernel has no lockdown"
address=$(controllers | tail -n 1)
parameter=allow_no_iommu=1
! is_fenced "$address" || parameter=
# shellcheck disable=SC2086 # none or one word
claim "the module loads" modprobe annex $parameter
claim "a controller is bound" annex bind "$address" || exit 1
uri=pci:$address
claim "a pattern is written" life fill "$uri"
claim "the kernel is locked down" eval "echo integrity >$lockdown && grep '\[integrity\]' $lockdown"
if is_fenced "$address"; then
	claim "the controller is behind an IOMMU, and opens" life check "$uri"
else
	claim "the controller could reach all memory, and does not open" \
		refused "refused by annex.ko" life check "$uri"
	claim "the log says why" eval \
		"dmesg | grep '$address: no IOMMU, and the kernel is locked down'"
fi
claim "it unloads" rmmod annex

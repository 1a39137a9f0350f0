# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A planned network, with its tensors on a small device tier, CXL memory and an NVMe controller.
# machines: all
# limit: 240
. /test/lib.sh

[ "$NVME" -gt 0 ] || skip "there is no NVMe controller"
with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
claim "a planned network computes the right weights" \
	tell_buffers hdmplan "pci:$first" "pci:$address"
claim "nothing of it is left" no_range "$first"
claim "nor pinned" within 10 no_pins
claim "it unloads" rmmod annex

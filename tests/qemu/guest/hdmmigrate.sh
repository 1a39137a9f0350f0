# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Tensors move between a small device tier, CXL memory and an NVMe controller.
# machines: flat
# limit: 240
. /test/lib.sh

[ "$NVME" -gt 0 ] || skip "there is no NVMe controller"
with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
claim "a tensor is the same after all ways" tell_buffers hdmmigrate "pci:$first" "pci:$address"
claim "nothing of it is left" no_range "$first"
claim "nor pinned" within 10 no_pins
claim "it unloads" rmmod annex

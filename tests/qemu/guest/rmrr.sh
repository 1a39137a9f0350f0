# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller that firmware wants to reach memory of its own, whatever the kernel maps (an RMRR),
# is handed to no program; another one of the same machine is.
# machines: rmrr
. /test/lib.sh

# region ADDRESS TYPE - Its IOMMU group has a reserved region of that type.
region()
{
	cat "/sys/bus/pci/devices/$1/iommu_group/reserved_regions"
	grep -q " $2\$" "/sys/bus/pci/devices/$1/iommu_group/reserved_regions"
}

[ "$IOMMU" = rmrr ] || skip "firmware wants no memory for a controller"
needs_module
wanted=$(controllers | head -n 1)
claim "firmware wants memory for the first controller" region "$wanted" direct || exit 1
claim "the module loads" modprobe annex
claim "it is refused" refused "annex.ko did not bind it" annex bind "$wanted"
claim "the log says why" eval "dmesg | grep '$wanted: its IOMMU group .* RMRR'"
claim "it has no file then" [ ! -e "/dev/annex/$wanted" ]

address=$(controllers | sed -n 2p)
claim "the second has a region too, that of its interrupts" region "$address" msi
claim "but none of firmware's" eval "! region $address direct"
claim "it is bound" annex bind "$address"
chmod 666 "/dev/annex/$address"
# shellcheck disable=SC3045 # busybox has it
ulimit -l unlimited
claim "an owner without rights uses it" nobody life fill "pci:$address"
claim "it unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The guest is the machine that was asked for.
. /test/lib.sh

# One group of the right kind for each controller, or none at all.
groups()
{
	case $IOMMU in
	1 | noremap) want=DMA ;;
	lazy) want=DMA-FQ ;;
	*) want= ;;
	esac
	for address in $(controllers); do
		# Where no firmware tells, a device comes into its group with its first driver.
		[ ! -e /sys/firmware/devicetree ] || { modprobe nvme && rmmod nvme; }
		type=$(cat "/sys/bus/pci/devices/$address/iommu_group/type" 2>/dev/null)
		[ "$type" = "$want" ] || { echo "$address: '$type', not '$want'"; return 1; }
	done
}

is_kernel()
{
	case $(uname -r) in
	"$KERNEL".* | *-"$KERNEL" | "${KERNEL%-*}".*-"${KERNEL##*-}") return 0 ;;
	esac
	uname -r
	return 1
}

# A kernel that can watch itself for data races does.
watches()
{
	[ "${KERNEL##*-}" != kcsan ] || grep '^enabled: 1$' /sys/kernel/debug/kcsan
}

claim "user space is reached" true
claim "kernel $KERNEL" is_kernel
claim "it watches itself as asked for" watches
claim "$NVME NVMe controllers" [ "$(controllers | wc -l)" -eq "$NVME" ]
claim "IOMMU groups as asked for ($IOMMU)" groups

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller with several namespaces: all of them by the controller, in their order, and any of
# them by their names.
# machines: spaces
# limit: 90
. /test/lib.sh

facts()
{
	largest=$(($(cat /sys/block/nvme$first/queue/max_hw_sectors_kb) * 1024))
	is "$(ng facts "$1" 2>&1)" "$2, $largest"
}

# space NSID - As in 0n1: the kernel numbers them in the order in which it finds them.
space()
{
	for block in /sys/block/nvme*; do
		read -r serial <"$block/device/serial" && [ "$serial" = annex0 ] || continue
		[ "$(cat "$block/nsid")" != "$1" ] || [ ! -c "/dev/ng${block#*/nvme}" ] ||
			{ echo "${block#*/nvme}"; return; }
	done
	return 1
}

there()
{
	first=$(space 1) && second=$(space 2) && third=$(space 3)
}

[ "$NAMESPACES" -eq 3 ] || skip "a controller has one namespace"
modprobe nvme
claim "there are three namespaces" within 10 there || exit 1
claim "the controller has all" facts "nvme:$(ctrl 0)" "3 of 524288 x 512"
claim "one alone" facts "ng:/dev/ng$second" "1 of 16384 x 4096"
claim "two in another order" facts "ng:/dev/ng$third?ns=/dev/ng$first" "2 of 16384 x 4096"
claim "the second agrees with its block device" ng agree "ng:/dev/ng$second" "/dev/nvme$second"
claim "the first does by the controller" ng agree "nvme:$(ctrl 0)" "/dev/nvme$first"
modprobe ext4
modprobe crc32c_generic 2>/dev/null
mkdir m
claim "the second gets a file system" mke2fs -b 4096 "/dev/nvme$second"
claim "which is mounted" mount -t ext2 "/dev/nvme$second" m
claim "writes to it are refused" refused "status 0x182" ng write "ng:/dev/ng$second"
claim "and pass to others" ng write "ng:/dev/ng$third"
claim "also where both are one device" ng write "ng:/dev/ng$third?ns=/dev/ng$second"
umount m
claim "the driver unloads" within 5 rmmod nvme

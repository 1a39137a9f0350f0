# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data goes through the annex tool to a disk and comes back as it was: the proxy on the in-tree
# driver.
# machines: cross
# limit: 90
. /test/lib.sh

size=4194304

same()
{
	head -c $size "$disk" | cmp - data
}

modprobe nvme
claim "the in-tree driver has a disk" within 5 disk 0 || exit 1
disk=$(disk 0)
head -c $size /dev/urandom >data
claim "other data is there before" eval "! same"
claim "annex copy writes to the disk" annex copy data "file:$disk?direct=1" --overwrite
claim "the disk has the data" same
rm data
claim "vectors are made" vectors
claim "their sum is written to the disk through a cache, and verified" sum "file:$disk?direct=1"
rmmod nvme

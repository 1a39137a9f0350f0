# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A drive that the kernel uses: nothing is written beside a file system or swap, unless that is
# asked for; reads always pass.
# machines: cross
# limit: 90
. /test/lib.sh

# watched SECONDS WORD COMMAND... - After this command, a program that writes all the time is
# refused, or no more.
watched()
{
	seconds=$1 word=$2
	shift 2
	"$@" && hears "$seconds" "$word"
}

# partition - One, which leaves the last blocks of the disk alone.
partition()
{
	printf 'n\np\n1\n2048\n262143\nw\n' | fdisk "$disk" && partprobe "$disk" &&
		[ -b "${disk}p1" ]
}

# warned - Two lines: the user of the drive, and the error.
warned()
{
	! annex verify "ng:$node" --overwrite --bytes 1M 2>words
	cat words
	grep -q "$node: writes are refused while ${disk#/dev/}p1 is mounted on .*/m;" words &&
		grep -q "something else uses it, or a part of it" words &&
		[ "$(wc -l <words)" -eq 2 ]
}

# may_not_claim - Likewise a program that claims blocks before it writes them.
may_not_claim()
{
	! annex copy a.f64 "ng:$node" --overwrite 2>claimed
	cat claimed
	grep -q "something else uses it, or a part of it" claimed
}

modprobe nvme
claim "the disk is there" within 10 disk 0 || exit 1
disk=$(disk 0)
node=$(generic "$disk")
modprobe ext4
modprobe crc32c_generic 2>/dev/null
mkdir -p m
claim "there is a file to copy" annex vadd gen a.f64 --size 1M
claim "it gets a partition" within 5 partition
claim "and a file system on that" mke2fs "${disk}p1"
claim "writes to an unused drive pass" ng write "ng:$node"

claim "the partition is mounted" mount -t ext2 "${disk}p1" m
claim "writes are refused" refused "status 0x182" ng write "ng:$node"
claim "so they are by the controller" refused "status 0x182" ng write "nvme:$(ctrl 0)"
claim "overwriting it fails, naming the mount" warned
claim "and so does a claim" may_not_claim
claim "reads pass" annex bench block "ng:$node" --seconds 1
claim "with force=1 writes pass" ng write "ng:$node?force=1"
claim "it is unmounted" umount m
claim "writes pass again" ng write "ng:$node"

start ng watch "ng:$node"
claim "a program writes" hears 10 written
claim "refused within 2 s when the partition is mounted" watched 2 refused \
	mount -t ext2 "${disk}p1" m
claim "and no more when it is unmounted" watched 2 written umount m
claim "refused when it is swap" watched 2 refused eval 'mkswap "${disk}p1" && swapon "${disk}p1"'
claim "and no more when it is not" watched 2 written swapoff "${disk}p1"
kill $pid
claim "the program ends" ended 143

claim "the whole disk gets a file system" mke2fs -F "$disk"
claim "which is mounted" mount -t ext2 "$disk" m
claim "writes are refused" refused "status 0x182" ng write "ng:$node"
umount m
claim "the first blocks are cleared" dd if=/dev/zero of="$disk" bs=1M count=1
rmmod nvme

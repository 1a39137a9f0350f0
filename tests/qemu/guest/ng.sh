# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A drive that the kernel's own driver keeps: the same queues over io_uring's passthrough, beside
# the kernel's users, with the rights that the kernel gives.
# machines: kernel
# limit: 480
. /test/lib.sh

modprobe nvme
claim "the disk is there" within 10 disk 0 || exit 1
disk=$(disk 0)
node=$(generic "$disk")
ctrl=$(ctrl 0)
address=$(basename "$(readlink -f "/sys/class/nvme/${ctrl#/dev/}/device")")
throttle 0 0 >/dev/null

facts()
{
	is "$(ng facts "$1" 2>&1)" "$2"
}

# largest DISK - Bytes of the largest command that the kernel takes for it: behind an IOMMU it takes
# less than the drive.
largest()
{
	echo $(($(cat "/sys/block/$1/queue/max_hw_sectors_kb") * 1024))
}

# beside COMMAND... - While the kernel writes elsewhere on the disk.
beside()
{
	dd if=/dev/zero of="$disk" bs=64k seek=2048 count=2047 oflag=direct 2>/dev/null &
	"$@" && wait $!
}

claim "random commands agree with a model, and with the block device" ng agree "ng:$node" "$disk"
claim "and while the kernel writes elsewhere" beside ng agree "ng:$node" "$disk"
claim "and with a thread that serves" ng agree "ng:$node?serve=thread" "$disk"
claim "by the controller" ng agree "nvme:$ctrl" "$disk"
claim "by its address" ng agree "nvme:$address" "$disk"
claim "it has one namespace, and the largest command of the drive" \
	facts "nvme:$address" "1 of 524288 x 512, $(largest "${disk#/dev/}")"
export ANNEX_TEST_DEVICE="ng:$node"
for suite in nvme/device_io $([ "${ALL:-0}" != 1 ] || echo cache/cache_threads); do
	claim "the suite ${suite#*/} passes on it" "unit-${suite%/*}" "${suite#*/}"
done
claim "annex verify" annex verify "ng:$node" --overwrite --bytes 16M
claim "the block device has the written data" annex verify "file:$disk" --read-only --bytes 16M
claim "annex bench block" annex bench block "ng:$node" --seconds 1
claim "annex doctor sees it" eval 'annex doctor | grep "^ng: *drives *ok"'
row="| QEMU NVMe Ctrl | [^|]* | 1b36:0010, class 010802 | [^|]* | $(uname -r) | [^|]* |"
claim "and has a row for it, without its serial number" \
	eval 'annex doctor --report | grep -qx "$row [0-9.]* KiB | [0-9]* | 512 B | not run |"'
claim "vectors are made" vectors
claim "their sum is written to it through a cache, and verified" sum "ng:$node"
claim "data is copied to it" annex copy a.f64 "ng:$node" --overwrite
claim "and is there" eval 'head -c "$(stat -c %s a.f64)" "$disk" | cmp - a.f64'

# Readers share the drive, under both of its names; writers fail meanwhile.
# holding KIND - Whether a process has a lock of the kind.
holding()
{
	grep -q "OFDLCK.* $1 " /proc/locks
}
annex bench block "ng:$node?readonly=1" --seconds 600 --threads 1 >/dev/null 2>&1 &
claim "a reader is there" within 10 holding READ
claim "no command copies to a drive that is read" refused "another process reads" \
	annex copy a.f64 "file:$disk" --overwrite
claim "nor by its generic device" refused "something else uses it" \
	annex copy a.f64 "ng:$node" --overwrite
claim "others read" annex bench block "file:$disk?readonly=1" --seconds 0.01
kill %1
wait
annex bench block "ng:$node" --write --overwrite --bytes 1M --seconds 600 >/dev/null 2>&1 &
claim "a writer is there" within 10 holding WRITE
for reader in "ng:$node" "file:$disk"; do
	claim "no command reads a drive that is written: $reader" \
		refused "something else writes to it" annex bench block "$reader?readonly=1"
done
kill %1
wait

claim "a file is none" refused "is no generic device" annex verify ng:a.f64 --read-only
claim "nor is the block device" refused "is no generic device" annex verify "ng:$disk" --read-only
claim "nor the controller" refused "nvme: takes a controller" annex verify "ng:$ctrl" --read-only
claim "nor any other device" refused "is no generic device" annex verify ng:/dev/null --read-only
claim "a namespace is no controller" refused "ng: takes a namespace" \
	annex verify "nvme:$node" --read-only
claim "there is no such drive" refused "has no controller 0000:99:00.0" \
	annex verify nvme:0000:99:00.0 --read-only
claim "there is no such path" refused "No such file" annex verify ng:/dev/ng9n9 --read-only
claim "there is no such parameter" refused "direct" annex verify "ng:$node?direct=1" --read-only
claim "readonly=1 refuses writes" refused "" ng write "ng:$node?readonly=1"

claim "opening it without permission fails" refused "Permission denied" \
	nobody annex verify "ng:$node" --read-only
chown nobody "$node"
chmod 600 "$node"
case $(uname -r) in
6.1.*)
	claim "root alone may send commands" refused "root alone" \
		nobody annex verify "ng:$node" --read-only
	;;
*)
	claim "a user with permission can use it" \
		nobody annex verify "ng:$node" --overwrite --bytes 1M
	;;
esac
polls=yes
case $(uname -r) in
6.1.*) polls='' needs="poll=1 needs Linux 6.12" ;;
*) needs=poll_queues ;;
esac
claim "it has no queues to poll" refused "$needs" annex verify "ng:$node?poll=1" --read-only
claim "the driver unloads" within 5 rmmod nvme
[ "$polls" ] || exit 0

modprobe nvme poll_queues=1
claim "the disk is there" within 10 disk 0 || exit 1
disk=$(disk 0)
node=$(generic "$disk")
claim "polled, commands agree with a model, and with the block device" \
	ng agree "ng:$node?poll=1" "$disk"
claim "and with a thread that serves" ng agree "ng:$node?poll=1&serve=thread" "$disk"
export ANNEX_TEST_DEVICE="ng:$node?poll=1"
claim "the suite device_io passes on it" unit-nvme device_io
claim "the driver unloads" within 5 rmmod nvme

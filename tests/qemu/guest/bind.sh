# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# annex bind takes unused controllers, and only controllers; annex unbind brings the kernel's driver
# back with the data as it was.
# machines: cross
# limit: 150
. /test/lib.sh

# The state of the controller: driver, and override.
state()
{
	cd "/sys/bus/pci/devices/$address" || return 1
	driver=$(readlink driver)
	echo "${driver##*/} $(cat driver_override)"
	cd "$OLDPWD" || return 1
}

untouched()
{
	is "$(state)" "$before"
}

bound()
{
	is "$(state)" "annex annex" && [ -c "/dev/annex/$address" ]
}

with_nvme()
{
	within 5 disk 0 && untouched
}

# A mount in another mount namespace, which annex bind does not see, prevents it too.
mounted_elsewhere()
{
	mkfifo ready go
	unshare -m sh -c "mount -t ext2 $disk mnt && echo >ready && read -r _ <go" &
	holder=$!
	read -r _ <ready
	refused "lsblk $disk shows its user" annex bind "$address"
	rc=$?
	echo >go
	wait $holder
	return $rc
}

# A process that has the disk open, or the module's node.
held()
{
	node=$1
	shift
	exec 6<"$node"
	"$@"
	rc=$?
	exec 6<&-
	return $rc
}

# A device that the module is told to take, but does not know how to use.
not_taken()
{
	echo annex >"$other/driver_override"
	echo "${other##*/}" >/sys/bus/pci/drivers_probe
	[ ! -e "$other/driver" ]
	rc=$?
	echo >"$other/driver_override"
	dmesg | grep -q "${other##*/}: annex: not an NVMe controller" || return 1
	return $rc
}

sum()
{
	disk=$(disk 0) && head -c 8388608 "$disk" | md5sum
}

often()
{
	for i in 1 2 3; do
		annex bind "$address" && bound && annex unbind "$address" && with_nvme || return 1
	done
}

needs_module
modprobe nvme
modprobe crc32c_generic
modprobe ext4 # which has ext2 too, unless the kernel has that alone
claim "the kernel's driver has a disk" within 5 disk 0 || exit 1
disk=$(disk 0)
address=$(controllers | head -n 1)
before=$(state)
claim "it is that of the first controller" [ -e "/sys/bus/pci/devices/$address/nvme" ]
claim "without the module: refused" refused "modprobe annex" annex bind "$address"
modprobe annex allow_no_iommu=1

mkdir mnt
claim "there is a file system" mke2fs "$disk"
claim "it is mounted" mount -t ext2 "$disk" mnt
claim "mounted: refused" refused "mnt on ${disk##*/}: umount" annex bind "$address"
umount mnt
claim "mounted where it is not seen: refused" mounted_elsewhere
mkswap "$disk" >/dev/null
claim "there is swap" swapon "$disk"
claim "swap: refused" refused "swapoff $disk" annex bind "$address"
swapoff "$disk"
claim "open: refused" held "$disk" refused "process .*end it first" annex bind "$address"
claim "not root: refused" refused "only root" su nobody -s /bin/sh -c "annex bind $address"
claim "another kind of device: refused" refused "neither an NVMe controller" annex bind 0000:00:00.0
claim "no device: refused" refused "there is no PCI device" annex bind 0000:ff:1f.7
claim "all that has changed nothing" untouched
for other in /sys/bus/pci/devices/*; do
	[ ! -e "$other/driver" ] && [ "$(cat "$other/class")" != 0x060000 ] || continue
	claim "the module does not take another kind of device either" not_taken
	break
done

head -c 8388608 /dev/urandom | dd of="$disk" bs=1M conv=notrunc,fsync 2>/dev/null
data=$(sum)
claim "it is bound" annex bind "$address"
claim "annex.ko has it" bound
claim "to bind it again is nothing" annex bind "$address"
claim "which changes nothing" bound
claim "open: not unbound" held "/dev/annex/$address" \
	refused "process .*end it first" annex unbind "$address"
claim "annex.ko has it still" bound
claim "it is unbound" annex unbind "$address"
claim "the kernel's driver has it, as before" with_nvme
claim "to unbind it again is nothing" annex unbind "$address"
claim "the data is whole" is "$(sum)" "$data"
claim "forth and back, three times" often
claim "the data is whole" is "$(sum)" "$data"
# shellcheck disable=SC2046 # words are wanted
claim "all controllers are bound" annex bind $(controllers)
# shellcheck disable=SC2046 # words are wanted
claim "and unbound" annex unbind $(controllers)
claim "the kernel's driver has the disk" with_nvme
claim "the module unloads" rmmod annex

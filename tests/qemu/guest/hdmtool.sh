# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The annex tool binds CXL memory to the module, describes it, works in it, and gives it back.
# machines: flat tree
# limit: 300
. /test/lib.sh
. /test/intree.sh

# driver ADDRESS NAME - Which one has it.
driver()
{
	link=$(readlink "/sys/bus/pci/devices/$1/driver")
	is "${link##*/}" "$2"
}

# intree ADDRESS - The kernel's own driver has it, and made a memory device of it.
intree()
{
	driver "$1" cxl_pci && memdev "$1" >/dev/null
}

memdev()
{
	for mem in "/sys/bus/pci/devices/$1"/mem*; do
		[ -d "$mem" ] && echo "${mem##*/}" && return
	done
	return 1
}

bound()
{
	for address in $devices; do
		driver "$address" annex_cxl && [ -c "/dev/annex/$address" ] &&
			is "$(cat "/sys/bus/pci/devices/$address/driver_override")" annex_cxl ||
			return 1
	done
}

returned()
{
	for address in $devices; do
		within 10 intree "$address" || return 1
		is "$(cat "/sys/bus/pci/devices/$address/driver_override")" "(null)" || return 1
	done
}

# lists WORDS - annex list has a line that matches.
lists()
{
	annex list >list 2>&1
	cat list
	grep -qE -e "$1" list
}

# finds CHECK STATE - What annex doctor says of CXL.
finds()
{
	annex doctor >doctor 2>&1
	grep ^cxl doctor
	grep -qE "^cxl +$1 +$2" doctor
}

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

hold()
{
	start hdm hold "$first" go && hears 20 holding
}

measured()
{
	annex bench hdm "pci:$first?piece=4M" --seconds 0.01 --bytes 1M --json >measures &&
		grep '"verified": true' measures
}

# What its refusal tells to do is done, and then it is refused no more.
with_region()
{
	claim "the kernel's driver has a region" commit_region decoder0.0 "$first" 1 256 || return
	claim "and a devdax" make_dax
	claim "which a driver has" take_dax
	claim "that is in use: refused" refused "$dax with driver device_dax" annex bind "$first"
	claim "the list says so" lists "^$first .*$dax with driver device_dax"
	told=$(sed -n 's/.*: \(echo .*\) first$/\1/p' refusal)
	claim "the command that it names succeeds" eval "$told"
	claim "it is committed: refused" refused "$name on mem" annex bind "$first"
	told=$(sed -n 's/.*: \(echo .*\) first$/\1/p' refusal)
	claim "the command that it names succeeds" eval "$told"
	echo "$name" >"$root/delete_region"
}

needs_module
[ "$CXL" -gt 0 ] || skip "there is no CXL memory"
modprobe -a nvme cxl_acpi cxl_pci cxl_port cxl_mem
first=$(cxl 0)
devices=$(cxl_devices)
nvme=$(controllers | head -n 1)
claim "the kernel's driver has the disk" within 5 disk 0 || exit 1
claim "and its driver the memory" returned || exit 1
claim "without the module: refused" refused "modprobe annex" annex bind "$first"
kind='256.0 MiB +-'
[ "$CXL_KIND" = volatile ] || kind='256.0 MiB +256.0 MiB'
[ "$CXL_KIND" != persistent ] || kind='- +256.0 MiB'
[ "$KERNEL" = 6.1 ] || claim "its size is listed" lists "^$first +$kind"
claim "a window is found" finds windows ok
claim "a device that could be bound" finds devices missing
parameter=allow_no_iommu=1
! has_iommu "$nvme" || parameter=
shared=0
[ "$CXL_KIND" != persistent ] || shared=1
# shellcheck disable=SC2086 # none or one word
claim "the module loads" modprobe annex shared=$shared $parameter || exit 1
claim "another kind of device: refused" refused "nor CXL memory" annex bind 0000:00:00.0
# Linux makes one only where no hypervisor is seen, and 6.1 none of volatile memory.
if ! grep -q hypervisor /proc/cpuinfo && [ "$KERNEL" != 6.1 ] &&
	[ "$CXL_SHAPE $CXL_KIND" = "flat volatile" ]; then
	with_region
fi
# A bridge with one root port has no decoders to hold.
mend="modprobe -r cxl_acpi"
if [ "$CXL" -gt 1 ]; then
	claim "the kernel's driver holds bridges" finds bridges missing
	mend=$(sed -n 's/^ *\$ sudo \(modprobe -r [a-z_ ]*\).*/\1/p' doctor)
fi
claim "the command that mends it succeeds" eval "$mend"
claim "no driver holds bridges" finds bridges ok

# shellcheck disable=SC2086 # words are wanted
claim "all memory is bound" annex bind $devices || exit 1
claim "annex.ko has it" bound
claim "to bind it again is nothing" annex bind "$first"
claim "its size is listed" lists "^$first +$kind +[0-9]+ .* -$"
claim "nothing more is needed" finds devices ok
claim "it is measured" measured

mkfifo go
exec 6<>go
claim "a range is held" hold
claim "it is private, if its memory is volatile" is "$(range "$first" shared)" $shared
claim "the list says where it is" lists "^$first .* 256.0 MiB at 0x[0-9a-f]+$"
claim "and its user" lists "^$first +cxl .* process $pid .hdm."
claim "so it is not unbound" refused "process $pid (hdm): end it first" annex unbind "$first"
claim "a pipe has a page of it" says "pin 0x2000" pinned
claim "its file is closed" says close closed
claim "it is mapped still: not unbound" refused "is in use: 1 in the module" annex unbind "$first"
claim "it is mapped no more" says unmap unmapped
claim "the page is held still: not unbound" refused "1 in the module" annex unbind "$first"
claim "annex.ko has it still" bound
claim "the pipe is emptied" says drop dropped
echo end >&6
claim "its user ends" ended 0

claim "vectors are made" vectors
claim "they are added with their caches in CXL memory" sum sum.f64 --cache-in "pci:$first?piece=4M"
claim "which is that of the next job" sum sum.f64 --cache-in "pci:$first?piece=4M"
if [ "$CXL" -gt 1 ]; then
	claim "in two devices" sum sum.f64 --cache-in "pci:$first,$(cxl 1)?format=1&piece=4M"
fi
claim "a controller is bound beside it" annex bind "$nvme" "$first" || exit 1
claim "which reads into CXL memory" sum "pci:$nvme" --cache-in "pci:$first?format=1&piece=4M"

# QEMU keeps its list until it ends: this page is not what other tests touch.
claim "poison is injected" host cxl-inject-poison path=/machine/peripheral/cxl0 \
	start=$((0x7805000)) length=64
# shellcheck disable=SC2086 # words are wanted
claim "all are unbound" annex unbind "$nvme" $devices
claim "the kernel's driver has the disk" within 5 disk 0
claim "and its driver the memory" returned
claim "to unbind it again is nothing" annex unbind "$first"
claim "both kinds are bound again" annex bind "$nvme" "$first"
claim "its poison is listed" lists "^$first +$kind +[1-9]"
claim "and unbound" annex unbind "$first" "$nvme"
claim "the kernel's driver has the memory" returned
claim "and the disk" within 5 disk 0
claim "it unloads" rmmod annex

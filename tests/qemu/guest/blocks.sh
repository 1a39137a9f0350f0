# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A namespace with metadata, or with blocks of more than 16 KiB, is refused, with a line; the same
# one without works, and so do protection information, which the kernel's driver finds right, and
# blocks of 16 KiB.
# machines: kernel
# limit: 90
. /test/lib.sh

# formatted INDEX - By the kernel's driver; QEMU's formats are 0 to 3: 512 bytes, and 0, 8, 16 or 64
# of metadata; 4 to 7: 4096 bytes, likewise. Added: 16, the metadata is in the data; 32 to 96, its
# type of protection information; 256, which comes first.
formatted()
{
	modprobe nvme && within 5 ctrl 0 && format "$(ctrl 0)" "$1" && rmmod nvme
}

# refuses INDEX WORDS
refuses()
{
	claim "it is formatted: $1" formatted "$1" || return
	with_module
	claim "opening it fails with the reason" refused "a format that cannot" life check "$uri"
	claim "the log says its format" eval "dmesg | grep '$address: $2'"
	modprobe nvme
	claim "the kernel's driver has it again" annex unbind "$address"
	claim "it unloads" rmmod annex
}

# protects INDEX
protects()
{
	claim "it is formatted: $1" formatted "$1" || return
	with_module
	claim "random commands on it are right" annex verify "$uri" --overwrite --bytes 4M
	modprobe nvme
	claim "the kernel's driver has it again" annex unbind "$address"
	claim "its disk is there" within 5 disk 0
	claim "all blocks pass its checks" dd if="$(disk 0)" of=/dev/null bs=1M count=4
	claim "it unloads" rmmod annex
}

[ "$NVME" -eq 1 ] || skip "there are several controllers"
needs_module
refuses 1 "namespace 1: format 1 (2^9+8 bytes): nvme format -n 1 --lbaf=0"
refuses 39 "namespace 1: format 7 (2^12+64 bytes)"
protects 33
protects 357
protects 53
claim "it is formatted: 4" formatted 4
with_module
claim "blocks of 4096 bytes work" place "$uri" any any
claim "the controller is pulled" pull 0
gone()
{
	[ ! -e "/sys/bus/pci/devices/$address" ]
}
claim "it disappears" within 5 gone
rmmod annex

# other_blocks BYTES - The same disk, in a controller with such blocks.
other_blocks()
{
	NVME_OPTIONS=$NVME_OPTIONS,logical_block_size=$1,physical_block_size=$1 within 5 plug 0
}

back()
{
	[ "$(controllers | head -n 1)" = "$address" ]
}

claim "one with blocks of 16384 bytes is plugged in" other_blocks 16384
claim "it appears" within 5 back
with_module
claim "data goes there and back" place "$uri" any any
[ ! -e /dev/udmabuf ] || claim "to a provider's memory" place "$uri" any provider # not 6.1
claim "random commands are right" annex verify "$uri" --overwrite --bytes 16M --size 64K
claim "it is pulled" pull 0
claim "it disappears" within 5 gone
claim "it unloads" rmmod annex

claim "one with blocks of 32768 bytes is plugged in" other_blocks 32768
claim "it appears" within 5 back
with_module
claim "opening it fails with the reason" refused "a format that cannot" life check "$uri"
claim "the log says its format" eval "dmesg | grep '$address: namespace 1: format . (2^15+0 bytes)'"
claim "it is pulled" pull 0
claim "it disappears" within 5 gone
claim "it unloads" rmmod annex
claim "the first is plugged in again" within 5 plug 0
claim "it appears" within 5 back
with_module
claim "blocks of 512 bytes work" life fill "$uri"
claim "it unloads" rmmod annex

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Whole devices: written, verified, measured. verify names each kind of damage.

claim "verify in memory" "$annex" verify mem:16M --json
value "all of it" bytes 16777216
claim "verify with blocks of 4096" "$annex" verify 'mem:16M?block=4096' --size 64K
claim "verify with blocks of 16384" "$annex" verify 'mem:16M?block=16384' --size 64K
claim "many threads on few queues" "$annex" verify mem:8M --threads 7 --queues 2 --depth 3 \
	--size 512 --json
value "their threads" threads 7
value "their queue pairs" queues 2
claim "a last command that is shorter" "$annex" verify mem:8M --bytes 1000960 --size 24K
claim "in sequence" "$annex" verify mem:8M --order sequential --size 1536 --depth 1
claim "several devices" "$annex" verify mem:4M mem:8M --json
value "all of both" bytes 12582912
claim "a controller that completes in any order" "$annex" verify \
	'mem:4M?fault=reorder,op=read,count=200&fault=delay,us=30000,after=50,count=3'
claim "verify makes a file" "$annex" verify file:v.img --bytes 4M --seed 3
holds "of that size" test "$(stat -c %s v.img)" -eq 4194304
claim "it is still right" "$annex" verify file:v.img --read-only --seed 3 --size 8K --json
value "all of the file" bytes 4194304
claim "in larger blocks too" "$annex" verify 'file:v.img?block=4096' --read-only --seed 3
claim "verify over it" "$annex" verify file:v.img --overwrite --seed 4 --bytes 2M

claim "bench" "$annex" bench block mem:16M --ios 5000 --threads 3 --json
value "so many" ios 5000
claim "bench for a time, verified" "$annex" bench block mem:16M --seconds 0.1 --size 512 --verify
claim "bench with naps" "$annex" bench block mem:4M --ios 2000 --nap 50 --depth 1
claim "bench writes" "$annex" bench block file:w.img --bytes 1M --write --order sequential \
	--ios 256 --threads 1 --seed 9 --json
claim "bench writes to a device with a slow cache" "$annex" bench block --write --ios 8 \
	'mem:4M?fault=delay,op=flush,us=300000' --json
holds "the flush is in the time" awk "BEGIN {exit !($(number time_s) >= 0.3)}"
claim "and its data is right" "$annex" verify file:w.img --read-only --seed 9
claim "bench of stamped data" "$annex" bench block file:w.img --ios 1000 --verify --seed 9

# spoil OFFSET BYTES - A copy v2.img of v.img with other bytes there, from standard input.
spoil()
{
	cp v.img v2.img
	dd of=v2.img bs=1 seek="$1" count="$2" iflag=fullblock conv=notrunc status=none
}

# wrong WORDS PATTERN - v2.img is refused, by the pattern's words.
wrong()
{
	refused "$1" "$2" "$annex" verify file:v2.img --read-only --seed 4 --bytes 2M
}

dd if=v.img bs=512 skip=9 count=1 status=none | spoil 39424 512
wrong "a block of another place" "LBA 77 .*misplaced.* byte 4608$"
refused "found in 4096-byte blocks" "LBA 9 .byte 39424.: misplaced" "$annex" verify \
	'file:v2.img?block=4096' --read-only --seed 4 --bytes 2M
refused "found by bench" "LBA 77 .*misplaced" "$annex" bench block file:v2.img --verify --seed 4 \
	--bytes 40K --ios 10 --order sequential --threads 1
printf X | spoil 40333 1
wrong "a byte that is another" "LBA 78 .*corrupt: 1 of 512 bytes differ, byte 397"
tr '\0' Z </dev/zero | head -c 256 | spoil 131328 256
wrong "a torn block" "LBA 256 .*torn: correct up to byte 256"
tr '\0' Z </dev/zero | head -c 200 | spoil 131072 200
wrong "a block torn at its beginning" "LBA 256 .*torn: correct from byte 200"
head -c 4096 /dev/zero | spoil 409600 4096
wrong "a block that was not written" "LBA 80[0-7] .*zeroes"
tr '\0' Z </dev/zero | head -c 512 | spoil 1024 512
wrong "a block with foreign data" "LBA 2 .*no pattern"
refused "data of another seed" "stale: a run with seed 3" "$annex" verify file:v.img --read-only \
	--seed 4
rm v2.img

refused "a read error" "LBA [0-9]+ failed.*0x281" "$annex" verify \
	'mem:4M?fault=error,op=read,after=100,status=0x281'
refused "a torn write" "LBA [0-9]+ failed" "$annex" verify 'mem:4M?fault=torn,op=write,after=5'
warning='warning: .*controller was reset' refused "a controller that fails" "failed or is gone" \
	"$annex" verify 'mem:4M?fault=fatal,after=9'
refused "a controller that vanishes" "" "$annex" bench block 'mem:4M?fault=remove,after=50'

refused "verify without a device" "name the device" "$annex" verify
refused "verify over data" "--overwrite" "$annex" verify file:v.img
refused "bench writes over data" "--overwrite" "$annex" bench block file:v.img --write
refused "verify of no file" "--bytes" "$annex" verify file:none.img
refused "checking no file" "none.img" "$annex" verify file:none.img --read-only
refused "read-only that writes" "--overwrite" "$annex" verify file:v.img --read-only --overwrite
refused "more than there is" "has 4194304" "$annex" verify mem:4M --bytes 5M
refused "bytes within a block" "blocks of 4096" "$annex" verify 'mem:4M?block=4096' --bytes 6K
refused "commands within a block" "blocks of 4096" "$annex" verify 'mem:4M?block=4096' --size 512
refused "odd commands" "blocks of 512" "$annex" verify mem:4M --size 1000
refused "commands of 1M" "up to" "$annex" verify mem:4M --size 1M
refused "commands of 0" "--size 0" "$annex" verify mem:4M --size 0
refused "no thread" "--threads 0" "$annex" verify mem:4M --threads 0
refused "no command in flight" "--depth 0" "$annex" bench block mem:4M --depth 0
refused "memory for all of them" "" "$annex" bench block mem:4M --depth 65535 --threads 1024 \
	--queues 1 --size 64K
refused "unknown order" "random, sequential" "$annex" verify mem:4M --order backwards
refused "two devices" "too many" "$annex" bench block mem:4M mem:4M
refused "writes that are verified" "--verify" "$annex" bench block mem:4M --write --verify
refused "no time" "--seconds" "$annex" bench block mem:4M --seconds 0
refused "a device too small" "smaller than one" "$annex" bench block mem:4K --size 64K
refused "pci without the module" "pci:" "$annex" verify pci:0000:00:1f.7 --overwrite
if [ -d /sys/bus ]; then
	refused "a device that is not there" "pci:ffff:ff:1f.7: there is no such device: annex" \
		"$annex" bench block pci:ffff:ff:1f.7
fi
rm v.img w.img

# A file of NumPy, with its header, that ends inside a block.
header="{'descr': '<f8', 'fortran_order': False, 'shape': (1000003,), }"
{
	printf '\223NUMPY\001\000v\000%-117s\n' "$header"
	head -c 8000024 /dev/urandom
} >odd.npy
cp odd.npy was.npy
claim "bench of a file of any size" "$annex" bench block 'file:odd.npy?readonly=1' --ios 3000 \
	--size 512
claim "in blocks of 4096" "$annex" bench block 'file:odd.npy?readonly=1&block=4096' --ios 3000
claim "without readonly" "$annex" bench block file:odd.npy --ios 100
holds "it is as it was" cmp odd.npy was.npy
refused "a file that is not writable" "use readonly=1 to read it" "$annex" bench block "file:$annex"
claim "and is read so" "$annex" bench block "file:$annex?readonly=1" --ios 100
warning='its last 152 bytes are left out' claim "verify all of its whole blocks" \
	"$annex" verify file:odd.npy --overwrite --json
value "its whole blocks" bytes 8000000
holds "its last bytes are as they were" cmp <(tail -c 152 odd.npy) <(tail -c 152 was.npy)
holds "and it has its size" test "$(stat -c %s odd.npy)" -eq 8000152
warning='its last 152 bytes are left out' claim "they are right" "$annex" verify file:odd.npy \
	--read-only
warning='its last 152 bytes are left out' claim "bench writes" "$annex" bench block file:odd.npy \
	--write --overwrite --ios 1000
holds "it has its size" test "$(stat -c %s odd.npy)" -eq 8000152
claim "no line if it is not asked for all" "$annex" verify file:odd.npy --overwrite --bytes 1M
head -c 100 odd.npy >tiny
refused "a file of less than a block" "has 100 bytes, less than a block of 512" "$annex" verify \
	file:tiny --overwrite
rm odd.npy was.npy tiny

# Nothing keeps a file system busy when a command has ended: its io_uring has let go of the file.
if truncate -s 32M fs.img && mkfs.ext4 -q fs.img && mkdir full &&
	mount -o loop fs.img full 2>/dev/null; then
	truncate -s 8M full/f
	for turn in 1 2 3 4 5; do
		claim "turn $turn: reads of a file" "$annex" bench block file:full/f --ios 100
		holds "its file system is unmounted" umount full
		claim "and mounted again" mount -o loop fs.img full
	done
	umount full
else
	skip "a file system on a loop device: this user cannot mount one"
fi

# A closed stream's number does not become the device's.
head -c 1M /dev/zero >closed.img
cp closed.img open.img
claim "bench block writes" "$annex" bench block 'file:open.img?direct=0' --write --overwrite \
	--ios 64
refused "its report on a closed stream" "report: Bad file descriptor" sh -c \
	"'$annex' bench block 'file:closed.img?direct=0' --write --overwrite --ios 64 >&-"
holds "which does not go to the device" sh -c '! grep -q device closed.img'
holds "other streams may be closed" sh -c \
	"'$annex' bench block 'file:closed.img?direct=0' --ios 64 <&- 2>&-"

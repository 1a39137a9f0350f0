# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# annex selftest: it passes here, leaves nothing, and detects faults.

mkdir st
self=("$annex" selftest --seed 7)
claim "all parts" "${self[@]}" --seconds 0 --dir st --json
holds "each ran" test "$(grep -cE '"result": "(ok|not_run)"' out)" -eq 4
holds "nothing stays" test -z "$(ls st)"
claim "some parts, as a table, repeated" "${self[@]}" --only ranges,queues --seconds 0
awk '/ ok /{print $1, $2, $3, $4, $5, $6}' out >first
claim "the same seed" "${self[@]}" --only queues,ranges,queues --seconds 0
awk '/ ok /{print $1, $2, $3, $4, $5, $6}' out >second
holds "gives the same operations" cmp first second
refused "no such part" "choose some of" "${self[@]}" --only queues,nonsense
refused "no part" "choose some of" "${self[@]}" --only ''
refused "no such device" "queues: .*No such file" "$annex" selftest --overwrite file:st/none
holds "which is not made" test ! -e st/none
refused "a device that is too small" "queues: not completed: " \
	"$annex" selftest --only queues --overwrite mem:1M
refused "large blocks" "queues: not completed: .*blocks of 16384 bytes are larger" \
	"$annex" selftest --only queues --overwrite 'mem:64M?block=16384'
refused "no such directory" "st/none" "$annex" selftest --dir st/none
claim "a range of one's own" "${self[@]}" --only ranges --seconds 0 \
	--range "shm:$dir/st/range?size=8M"
refused "a range without room" "ranges: not completed: " \
	"$annex" selftest --only ranges --seconds 0 --range "shm:$dir/st/small?size=2M"
claim "a device of one's own" "${self[@]}" --only queues,cache --seconds 0 \
	--overwrite 'mem:64M?block=4096'

# notices WORDS PATTERN COMMAND... - It fails, says which part and how to have it again; a table is
# on standard output.
notices()
{
	local words=$1 pattern=$2
	shift 2
	if timeout 60 "$@" >out 2>err || [ "$(wc -l <err)" -ne 1 ] ||
		! grep -qE -- "^annex selftest: $pattern.*--seed [0-9]+" err ||
		! grep -q ' failed ' out || [ -n "$(ls -d ./annex-selftest* 2>/dev/null)" ]; then
		fail "$words"
	else
		ok
	fi
}

flip='mem:64M?fault=flip,op=read,after=5,count=0'
for part in queues cache; do
	notices "a wrong bit: $part" "$part: .*byte [0-9]+ is 0x" \
		"${self[@]}" --only $part --overwrite "$flip"
done
if ! "${self[@]}" --only spaces --seconds 0 | grep -q 'spaces *not run'; then
	notices "a wrong bit: spaces" "spaces: " \
		"${self[@]}" --only spaces --overwrite "$flip"
fi
self[0]=${annex}-wrong
notices "a wrong byte: ranges" "ranges: .*byte [0-9]+ is 0x" "${self[@]}" --only ranges
self[0]=$annex

# A file system may let files be opened with O_DIRECT and have no direct I/O.
truncate -s 160M st/fs.img
if mkdir -p full && mkfs.ext4 -q -J size=8 st/fs.img 2>held &&
	mount -o loop,data=journal st/fs.img full 2>held; then
	for seed in 2 3; do
		claim "on ext4 with data=journal" "$annex" selftest --seed $seed --dir full \
			--only queues,cache,spaces --seconds 0
	done
	holds "nothing stays there" test "$(ls full)" = lost+found
	umount full
fi
rm -f st/fs.img

# A signal leaves nothing in the directory, and no piece in the range, which has room for one.
for i in 1 2; do
	"${self[@]}" --only ranges --seconds 60 --dir st --range "shm:$dir/st/range" >out 2>err &
	pid=$!
	until grep -q "$dir/st/range" /proc/$pid/maps 2>held || ! kill -0 $pid 2>held; do
		:
	done
	kill $pid
	wait $pid 2>held
done
holds "a signal leaves no file" test "$(ls st)" = "range
small"
claim "nor a piece" "${self[@]}" --only ranges --seconds 0 --range "shm:$dir/st/range"
rm -rf st first second

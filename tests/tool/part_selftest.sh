# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# annex selftest: it passes here, leaves nothing, and notices what is wrong.

mkdir st
self=("$annex" selftest --seed 7)
claim "all parts" "${self[@]}" --seconds 0 --dir st --json
holds "each ran" test "$(grep -cE '"result": "(ok|not_run)"' out)" -eq 5
holds "nothing stays" test -z "$(ls st)"
value "no mismatches" mismatches 0
claim "some parts, as a table, repeated" "${self[@]}" --only plans,ranges --seconds 0
grep -vE '^  (seed|directory|storage|part)' out | awk '{print $1, $2, $3, $4}' >first
claim "the same seed" "${self[@]}" --only ranges,plans --seconds 0
grep -vE '^  (seed|directory|storage|part)' out | awk '{print $1, $2, $3, $4}' >second
holds "gives the same operations" cmp first second
claim "a report beside the table" "${self[@]}" --only plans --seconds 0 --report st/r.json
holds "with the machine" grep -q '"kernel": "' st/r.json
refused "over an old report" "is there already" "${self[@]}" --only plans --report st/r.json
refused "no such part" "choose some of" "${self[@]}" --only plans,nonsense
refused "no such device" "No such file" "$annex" selftest --overwrite file:st/none
holds "which is not made" test ! -e st/none
refused "no such directory" "cannot make files" "$annex" selftest --dir st/none
claim "a range of one's own" "${self[@]}" --only ranges --seconds 0 \
	--range "shm:$dir/st/range?size=8M"
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
		! grep -q ' failed ' out || [ -n "$(ls -d ./annex-selftest.* 2>/dev/null)" ]; then
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
notices "a wrong bit: ranges" "ranges: annex-selftest-.*is 0x" "${self[@]}" --only ranges
notices "a wrong time" "plans: .*faster than its kernels" "${self[@]}" --only plans
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

# A signal leaves nothing: it comes when the folder is there.
"${self[@]}" --only queues --seconds 60 --dir st >out 2>err &
pid=$!
until ls -d st/annex-selftest.*/storage >held 2>&1 || ! kill -0 $pid 2>held; do
	:
done
kill $pid
wait $pid 2>held
holds "a signal leaves nothing" test "$(ls st)" = "r.json
range"
rm -rf st first second

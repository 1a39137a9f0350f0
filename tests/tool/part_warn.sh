# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Warnings, and what containers and file systems refuse.

# refuse ERRNO WHAT... -- COMMAND... - The command, with a seccomp filter: see refuse.py.
refuse="$here/refuse.py"
# warned WORDS PATTERN - The last command said one line on stderr, a warning that matches.
warned()
{
	holds "$1" test "$(grep -cE "^annex [a-z ]+: warning: $2" err)" -eq 1 -a \
		"$(wc -l <err)" -eq 1
}

# Direct I/O that is asked for by name. Files of sysfs have none for any user.
plain=/sys/kernel/mm/transparent_hugepage/enabled
if [ -r $plain ]; then
	refused "direct=1 where there is none" \
		"$plain: no direct I/O here: the file system has none for it; use direct=0" \
		"$annex" bench block "file:$plain?readonly=1&direct=1"
else
	echo "skipped: direct=1 without direct I/O ($plain is not there)"
fi
loop=
truncate -s 1M sectors.img
if [ "$(id -u)" -eq 0 ] && loop=$(losetup -b 4096 --show -f sectors.img 2>/dev/null); then
	refused "direct=1 on larger sectors" "larger than block=512; use block=4096 or direct=0" \
		"$annex" bench block "file:$loop?readonly=1&block=512&direct=1"
	claim "with the blocks that it has" \
		"$annex" bench block "file:$loop?readonly=1&block=4096&direct=1" --seconds 0.1
	claim "with blocks of its choice" \
		"$annex" bench block "file:$loop?readonly=1&direct=1" --seconds 0.1
	claim "without direct=1" \
		"$annex" bench block "file:$loop?readonly=1&block=512" --seconds 0.1
	losetup -d "$loop"
else
	echo "skipped: sectors of 4096 bytes (no loop device for this user)"
fi

# A warning of the library: one line, whatever a name has in it, and nothing of it on stdout.
warning='warning: .*controller was reset' refused "a name of two lines" "failed or is gone" \
	"$annex" verify $'file:two\nlines?size=1M&fault=fatal,after=9' --json
holds "the warning is one" test "$(grep -c 'warning: .*two?lines.*was reset' err)" -eq 1
holds "which stdout does not have" test ! -s out
rm -f two*

if "$refuse" EPERM io_uring -- true 2>/dev/null; then
	for err in EPERM ENOSYS; do
		warning='' claim "io_uring refused, $err" \
			"$refuse" $err io_uring -- "$annex" verify 'file:none?size=1M'
		warned "is told" "file: slower, by threads, .*seccomp=unconfined"
		claim "doctor, $err" "$refuse" $err io_uring -- "$annex" doctor
		holds "says so" grep -qE '^file: +io_uring +missing +.* by threads' out
		holds "and that files work" grep -qE '^file: +files +ok' out
		rm -f none
		warning='' claim "spaces tried in a container, $err" \
			"$refuse" $err userfaultfd device io_uring -- "$annex" selftest \
			--only spaces --seconds 0
		claim "doctor, $err" "$refuse" $err userfaultfd device -- "$annex" doctor
		holds "says so" grep -qE '^space +userfaultfd +missing +refused: .* by signals' out
		holds "and how to mend it" grep -q '\$ docker run' out
	done
	# The rights of a user where vm.unprivileged_userfaultfd is 0.
	claim "doctor without a right to userfaultfd" \
		"$refuse" EPERM kernel-faults device -- "$annex" doctor
	holds "says so" grep -qE '^space +userfaultfd +missing' out
	holds "of writes as everybody" grep -qE "^$("$annex" doctor | grep '^space  *writes')$" out
	holds "and how to mend it" grep -q 'sysctl -w vm.unprivileged_userfaultfd=1' out
	claim "doctor's JSON" "$refuse" EPERM kernel-faults device -- "$annex" doctor --json
else
	echo "skipped: refused system calls (no seccomp filters here)"
fi

# An ordinary user's limit of locked memory. The kernel adds up the locked memory of all processes
# of a user, and gives that of ended ones back late: each command runs as an unused user of its own.
# Kernels that count no rings have room for all devices.
user=$((100000 + 16 * $$))
# limited BYTES - Have "${as[@]}" run a command by a user that locks at most so many.
limited()
{
	as=(prlimit --memlock="$1:$1")
	user=$((user + 1))
	[ "$(id -u)" -ne 0 ] ||
		as=(setpriv --reuid="$user" --regid="$user" --clear-groups "${as[@]}")
}
mkdir -m 777 small
for name in a b; do
	"$annex" vadd gen small/$name.f64 --size 1M --seed 1 >held 2>&1
	chmod 644 small/$name.f64
done
cd small || exit 1
limited 8388608
if "${as[@]}" test -x "$annex" 2>/dev/null; then
	for size in 1048576 8388608; do
		limited $size
		claim "vadd, $size" "${as[@]}" "$annex" vadd a.f64 b.f64 -o c.f64
		rm -f c.f64
		limited $size
		claim "copies on eight files, $size" "${as[@]}" "$annex" copy a.f64 \
			--layout replica file:z{1..8}
		rm -f z?
	done
	for size in 65536 16384 0; do
		limited $size
		warning='warning: file: slower, by threads, .*: the limit of locked memory, ' \
			claim "vadd, $size" "${as[@]}" "$annex" vadd a.f64 b.f64 -o c.f64
		rm -f c.f64
		limited $size
		claim "selftest, $size" "${as[@]}" "$annex" selftest --only queues,cache --seconds 0
		limited $size
		claim "doctor, $size" "${as[@]}" "$annex" doctor
		tells="the limit of locked memory, $((size >> 10)) KiB"
		holds "tells of the limit" grep -qE "^file: +io_uring +(ok|limited +$tells)" out
		holds "of controllers, too" grep -qE "^pci: +memlock +limited +$tells" out
	done
	# No threads does not mean a wrong library. LeakSanitizer needs a thread.
	self=(env "ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0" "$annex" selftest --only queues
		--seconds 0 --overwrite mem:64M)
	limited 0
	refused "neither io_uring nor threads" "file: no more threads|cannot start 4 threads" \
		"${as[@]}" prlimit --nproc=1 "${self[@]}"
	limited 8388608
	refused "selftest without threads" \
		"^annex selftest: queues: not completed: cannot start 4 threads: the limit" \
		"${as[@]}" prlimit --nproc=1 "${self[@]}"
	holds "was not wrong" grep -qE "^ +cannot start 4 threads" out
else
	echo "skipped: limits of locked memory (this user cannot become another)"
fi
cd .. || exit 1
rm -rf small

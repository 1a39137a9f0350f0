#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of others that test file systems, on one of annex fs mount: suites.sh ANNEX [SUITE]...
# SUITE is stress, fio, dbench, fs_mark, bonnie, sqlite or rocksdb; all of them, unless some are
# named. After each the file system is unmounted and annex fs fsck finds it clean. SECONDS_EACH is
# how long one stressor works (3).
set -u

here=$(cd "$(dirname "$0")" && pwd)
annex=$(realpath -e "${1:?usage: suites.sh ANNEX [SUITE]...}") || exit 1
shift
all=(stress fio dbench fs_mark bonnie sqlite rocksdb)
each=${SECONDS_EACH:-3}
top=$(realpath "$(mktemp -d)") || exit 1
at=$top/full
device=$top/device
server=
job=

ended()
{
	[ -z "$job" ] || kill -KILL "$job" 2>/dev/null
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null
	umount -l "$at" 2>/dev/null
	rm -rf "$top"
}
trap ended EXIT
trap 'exit 130' INT TERM

claim_log=$top/log
# shellcheck source=tests/claim.sh
. "$here/../../claim.sh"

claim_says()
{
	cut -c 1-200 "$claim_log" | grep -v '^ *$' | tail -n 12
}

# A program runs in the background, so that a signal to this script does not wait for it.
claim_run()
{
	if declare -F "$1" >/dev/null; then
		"$@" >"$claim_log" 2>&1
		return
	fi
	timeout -k 10 600 "$@" >"$claim_log" 2>&1 </dev/null &
	job=$!
	wait $job
	set -- $?
	job=
	return "$1"
}

# Others than the user of the mount may use it: some tests change to one.
mounted()
{
	"$annex" fs mount -f -o allow_other,dev,suid "$device" "$at" >"$top/said" 2>&1 &
	server=$!
	until mountpoint -q "$at"; do
		kill -0 $server 2>/dev/null || return
	done
}

# checked WORDS - It ends without an error, and nothing is wrong in it.
checked()
{
	local rc
	claim "$1: unmounted" umount "$at" || return
	wait $server
	rc=$?
	server=
	claim "$1: it has written all: $(head -c 200 "$top/said")" test $rc -eq 0
	claim "$1: nothing is wrong in the file system" "$annex" fs fsck "$device"
}

killed()
{
	kill -KILL $server
	wait $server 2>/dev/null
	server=
}

remounted()
{
	claim "$1: unmounted after a kill" umount -l "$at"
	claim "$1: nothing is wrong after a kill" "$annex" fs fsck "$device"
	claim "$1: mounted again" mounted
}

# Of stress-ng's class filesystem, left out with a reason:
declare -A without=(
	[bind-mount]="mounts tmpfs, nothing of ours"
	[binderfs]="mounts binderfs"
	[chattr]="FS_IOC_SETFLAGS, which FUSE passes to no file system that has no ioctl"
	[dup]="descriptors only, no file of the directory"
	[eventfd]="eventfd only"
	[fiemap]="FS_IOC_FIEMAP, which FUSE has not"
	[inode-flags]="FS_IOC_SETFLAGS, likewise"
	[ioprio]="priorities only"
	[procfs]="reads /proc"
	[verity]="FS_IOC_ENABLE_VERITY, which FUSE leaves to an ioctl of the file system"
)

# stressor NAME - It passes, or cannot run here: stress-ng exits with 3 and 4.
stressor()
{
	mkdir -p "$at/stress"
	claim_run stress-ng --"$1" 2 --timeout "$each" --verify --temp-path "$at/stress" \
		--hdd-bytes 32M --iomix-bytes 32M --fallocate-bytes 32M --copy-file-bytes 128M
	case $? in
	0)
		if grep -qE 'fail:|skipped' "$claim_log"; then
			grep -q 'fail:' "$claim_log" && { fail "stress-ng --$1"; return; }
			skip "stress-ng --$1: $(grep -m 1 skipped "$claim_log" | cut -c 1-120)"
		else
			ok
		fi
		;;
	3 | 4) skip "stress-ng --$1: $(grep -m 1 -iE 'skip|not' "$claim_log" | cut -c 1-120)" ;;
	*) fail "stress-ng --$1" ;;
	esac
	rm -rf "$at/stress"
}

suite_stress()
{
	local name
	for name in $(stress-ng --class 'filesystem?' 2>&1 | sed -n "s/.*stressors: *//p"); do
		if [ -n "${without[$name]:-}" ]; then
			echo "# stress-ng --$name is left out: ${without[$name]}"
		else
			stressor "$name"
		fi
	done
}

# fios NAME ARGUMENT... - Written data are read and compared.
fios()
{
	local name=$1
	shift
	claim "fio: $name" fio --name="$name" --directory="$at" --size=48M --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --verify_state_save=0 --unlink=1 \
		--invalidate=1 --group_reporting "$@"
}

suite_fio()
{
	local direct
	for direct in 0 1; do
		fios "sequential, direct=$direct" --rw=write --bs=128k --direct=$direct \
			--ioengine=psync --fsync=16
		fios "random, direct=$direct" --rw=randwrite --bs=4k --direct=$direct \
			--ioengine=psync --fsync=64
		fios "random sizes, direct=$direct" --rw=randwrite --bsrange=4k-256k \
			--direct=$direct --ioengine=io_uring --iodepth=16 --numjobs=2 --size=24M
	done
	fios "read and written" --rw=randrw --bs=512-64k --bs_unaligned=1 --ioengine=psync
	fios "mapped" --rw=randwrite --bs=4k --ioengine=mmap --fsync=128
	fios "synchronous" --rw=randwrite --bs=4k --ioengine=psync --sync=1 --size=4M
	fios "two jobs, libaio" --rw=randwrite --bs=16k --direct=1 --ioengine=libaio --iodepth=8 \
		--numjobs=2 --fsync=32
}

# dbenched ARGUMENT... - A server's load; it goes on after errors, and tells of each.
dbenched()
{
	claim "dbench $*" dbench -t 8 -D "$at" "$@" 4 || return
	cp "$claim_log" "$top/dbench"
	claim "dbench $*: no call failed" none_failed
}

# dbench takes the number 0, which the first semaphores of a machine have, for an error of semget().
none_failed()
{
	! grep -v 'failed to create barrier semaphore' "$top/dbench" | grep -m 3 -E 'ERROR|failed'
}

suite_dbench()
{
	dbenched
	dbenched -s
	dbenched -F -S
	dbenched -x
}

suite_fs_mark()
{
	local sync
	for sync in 0 1 2 3 4 5 6; do
		mkdir "$at/mark"
		claim "fs_mark -S $sync" fs_mark -d "$at/mark" -S $sync -n 400 -s 10000 -t 2 -D 4 \
			-L 2 -l "$top/mark"
		rm -rf "$at/mark"
	done
	mkdir "$at/mark"
	claim "fs_mark, files that are kept" fs_mark -d "$at/mark" -S 1 -n 1000 -s 4096 -t 2 -k \
		-l "$top/mark"
	claim "as many are there" test "$(find "$at/mark" -type f -size 4096c | wc -l)" -eq 2000
	rm -rf "$at/mark"
}

suite_bonnie()
{
	# Bytes one by one (-f leaves them out) take minutes.
	claim "bonnie++" bonnie++ -q -f -d "$at" -r 64 -s 128 -n 2:20000:100:4 -u root
}

# until_lines FILE NUMBER - Until it has so many, or the job has ended.
until_lines()
{
	until [ "$(wc -l <"$1")" -ge "$2" ] || ! kill -0 $job 2>/dev/null; do :; done
}

# Each journal is killed several times, and goes on.
suite_sqlite()
{
	local journal round
	for journal in delete truncate persist wal; do
		: >"$top/noted"
		for round in 1 2 3 4 5; do
			"$here/sqlite.py" write "$at/$journal.db" "$top/noted" $journal \
				>"$top/writer" 2>&1 &
			job=$!
			until_lines "$top/noted" $((round * 100 + RANDOM % 40))
			killed
			wait $job 2>/dev/null
			job=
			remounted "sqlite, $journal"
			claim "sqlite, $journal, kill $round: all that was committed is there" \
				"$here/sqlite.py" verify "$at/$journal.db" "$top/noted"
		done
		claim "sqlite, $journal: it was killed at work: $(head -c 200 "$top/writer")" \
			test "$(wc -l <"$top/noted")" -ge 500
	done
}

# Small tables, so that it flushes and compacts them meanwhile.
suite_rocksdb()
{
	local round keys
	for round in 1 2 3 4 5; do
		: >"$top/writer"
		db_bench --db="$at/rocksdb" --benchmarks=fillseq --sync=1 --num=1000000 \
			--stats_interval=20 --write_buffer_size=65536 \
			--target_file_size_base=131072 \
			--level0_file_num_compaction_trigger=2 --compression_type=none \
			>"$top/writer" 2>&1 &
		job=$!
		until_lines "$top/writer" $((60 + RANDOM % 60))
		killed
		wait $job 2>/dev/null
		job=
		remounted "rocksdb"
		keys=$(sed -n 's/.*thread 0: ([0-9]*,\([0-9]*\)) ops.*/\1/p' "$top/writer" |
			tail -n 1)
		claim "rocksdb, kill $round: all that was synced is there" \
			"$here/rocksdb.py" "$at/rocksdb" "${keys:-1000000}"
		rm -rf "$at/rocksdb"
	done
	claim "db_bench: random writes, compared" db_bench --db="$at/rocksdb" \
		--benchmarks=fillrandom,overwrite,compact,verifychecksum,readwhilewriting \
		--num=40000 --threads=2 --write_buffer_size=262144 --verify_checksum=1
}

chosen=("$@")
[ $# -gt 0 ] || chosen=("${all[@]}")
for suite in "${chosen[@]}"; do
	declare -F "suite_$suite" >/dev/null && continue
	echo "suites: there is no suite $suite" >&2
	exit 2
done
mkdir "$at"
cd "$top" || exit 1
claim "a file system" "$annex" fs mkfs --size 2G "$device" --inodes 100000 || exit 1
if ! mounted || ! mountpoint -q "$at"; then
	skip "mounting: $(head -c 200 "$top/said")"
	claims_end
	exit
fi
for suite in "${chosen[@]}"; do
	began=$SECONDS
	mountpoint -q "$at" || mounted
	"suite_$suite"
	checked "$suite"
	echo "# $suite: $((SECONDS - began)) s"
done
claims_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# fio's engine for devices of Annex: fio.sh BUILD FOLDER. The source of the installed fio is fetched
# into FOLDER once. Data is verified in fio's modes; rates of both are told, which loads differ by.
set -u
cd "$(dirname "$0")/../.." || exit 1

build=$(realpath "$1") || exit 1
source=$(realpath -m "$2")
make=${make:-make}
dir=$(mktemp -d) || exit 1
daemon=
loop=
trap '[ -z "$daemon" ] || kill "$daemon"; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$dir"' EXIT
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. tests/claim.sh
version=$(dpkg-query -W -f '${source:Version}' fio 2>/dev/null) ||
	{ skip "fio engine: there is no fio of Debian here"; claims_end; exit; }

fetched()
{
	local list=$source/list
	[ ! -e "$source/fio/fio.h" ] || return 0
	mkdir -p "$source/lists/partial" || return
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"${MIRROR:-http://deb.debian.org/debian} $(. /etc/os-release &&
			echo "$VERSION_CODENAME") main" >"$list"
	set -- -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$source/lists" -o APT::Sandbox::User=root
	apt-get -qq "$@" update && (cd "$source" && apt-get -qq "$@" source --download-only \
		"fio=$version" && mkdir fio &&
		tar -C fio --strip-components=1 -xf fio_*.orig.tar.gz)
}

built()
{
	"$make" --no-print-directory BUILD="$build" FIO="$source/fio" fio-engine
}

# with URI OPTION... - A job, silent but for what went wrong.
with()
{
	local uri=$1
	shift
	fio --name=job --ioengine="external:$build/fio/annex.so" --uri="$uri" "$@" \
		--output-format=json --output="$dir/report"
}

verified()
{
	with "$1" --rw=randrw --bssplit=4k/60:64k/30:512k/10 --size=16M --iodepth=16 --verify="$2" \
		--verify_state_save=0 --do_verify=1 --verify_fatal=1 &&
		grep -q '"error" : 0' "$dir/report"
}

# flushes OPTION... - How many the loop device gets with 64 writes, one at a time.
flushes()
{
	local before
	before=$(awk '{print $16}' "/sys/block/${loop#/dev/}/stat") || return
	with "file:$loop" --rw=randwrite --bs=4k --size=256k --iodepth=1 "$@" >"$dir/said" 2>&1 ||
		return
	echo $(($(awk '{print $16}' "/sys/block/${loop#/dev/}/stat") - before))
}

# durable OPTION - Each write is flushed, as with fio's own engines.
durable()
{
	local n
	n=$(flushes "$1") && echo "$n flushes" && [ "$n" -ge 64 ]
}

plain()
{
	local n
	n=$(flushes) && echo "$n flushes" && [ "$n" -lt 8 ]
}

# refuses URI OPTION... - fio fails with a line of the engine's that has $pattern, and only one.
refuses()
{
	! with "$@" >"$dir/said" 2>&1 && grep "^annex: .*$pattern" "$dir/said" &&
		[ "$(grep -c '^annex: ' "$dir/said")" -eq 1 ]
}

# reports ERRNO - The job's error in fio's own report.
reports()
{
	grep -q "\"error\" : $1" "$dir/report" || grep -q "err= *$1/" "$dir/said"
}

rate()
{
	sed -n 's/^ *"iops" : \([0-9]*\)\..*/\1/p' "$dir/report" | head -n 1
}

bench_rate()
{
	"$build/annex" bench block "$1" --threads 1 --depth 64 --seconds 2 --json |
		sed -n 's/^ *"iops": \([0-9]*\)\..*/\1/p'
}

median()
{
	sort -n | sed -n 3p
}

# Both ways in turns, five times each.
compare()
{
	rm -f "$dir/theirs" "$dir/ours"
	for _ in 1 2 3 4 5; do
		with "$1" --rw=randread --bs=4k --iodepth=64 --iodepth_batch=16 \
			--iodepth_batch_complete_min=1 --iodepth_batch_complete_max=64 --size=16M \
			--time_based --runtime=2 --norandommap --gtod_reduce=1 || return
		rate >>"$dir/theirs"
		bench_rate "$1" >>"$dir/ours"
	done
	echo "# fio $(median <"$dir/theirs"), annex bench $(median <"$dir/ours") reads a second"
}

claim "fio's source, $version, is in $source" fetched
claim "the engine is built" built
[ "$failed" -eq 0 ] || { claims_end; exit; }
for mode in md5 crc32c sha256 xxhash meta; do
	claim "mem: verify=$mode" verified mem:16M $mode
	claim "file: verify=$mode" verified "file:$dir/disk?size=16M" $mode
done
mkfifo "$dir/ready"
"$build/annex" serve --socket "$dir/sock" mem:64M >"$dir/ready" &
daemon=$!
read -r _ <"$dir/ready"
claim "a part of a served device" "$build/annex" part add "$dir/sock" a 16M
claim "unix: verify=crc32c" verified "unix:$dir/sock?part=a" crc32c
claim "trims" with "file:$dir/disk" --rw=trim --bs=64k --size=16M --iodepth=4
claim "flushes" with "file:$dir/disk" --rw=write --bs=4k --size=1M --fsync=16
pattern="No such file"
claim "a device that is not there" refuses file:/nonexistent/disk --rw=read --size=1M
pattern="unknown scheme"
claim "no device" refuses nothing:1M --rw=read --size=1M

# Writes are as durable as their job says: the device counts its flushes.
if [ "$(id -u)" -eq 0 ] && truncate -s 16M "$dir/behind" &&
	loop=$(losetup --show -f "$dir/behind" 2>/dev/null); then
	claim "writes alone are not flushed" plain
	for option in sync=1 sync=sync sync=dsync fsync=1 fdatasync=1; do
		claim "$option flushes each write" durable --$option
	done
	losetup -d "$loop"
	loop=$(losetup -b 4096 --show -f "$dir/behind")
	claim "blocks below a sector are buffered" with "file:$loop?block=512" --rw=read --bs=512 \
		--size=64k
	pattern="no direct I/O"
	claim "but not with direct=1" refuses "file:$loop?block=512" --rw=read --bs=512 \
		--size=64k --direct=1
	losetup -d "$loop"
	loop=
else
	skip "flushes as the device sees them: no loop device here"
fi

# A trim is alone, since fio writes to its blocks next.
for uri in mem:16M "file:$dir/disk"; do
	for mode in trimwrite randtrimwrite; do
		claim "$uri: $mode" with "$uri" --rw=$mode --bs=4k --size=16M --iodepth=16 \
			--verify=md5 --verify_state_save=0
	done
done

# The largest blocks, and larger ones.
claim "blocks of 1 MiB" with "file:$dir/disk" --rw=write --bs=1M --size=8M --iodepth=4 \
	--verify=crc32c --verify_state_save=0
pattern="bs=.* 2097152 .* 1048576"
claim "blocks beyond a command" refuses "file:$dir/disk" --rw=read --bs=2M --size=8M
claim "blocks beyond a command have an error of their own" reports 90
claim "a range of blocks, too" refuses "file:$dir/disk" --rw=read --bsrange=4k-2M --size=8M
pattern="bs=.* 67108864 .* 33554432"
claim "trims beyond a command" refuses "mem:64M?block=512" --rw=trim --bs=64M --size=64M
pattern="bs=.* 1000 .* 512"
claim "parts of blocks" refuses "mem:64M?block=512" --rw=read --bs=1000 --size=1M
pattern="bs=.* 5000 .* 512"
claim "parts of blocks among others" refuses "mem:64M?block=512" --rw=randread \
	--bssplit=4k/50:5000/50 --size=1M

# All of a job is on the device.
pattern="offset=.*size=.*16777216"
claim "a part beyond the device" refuses "file:$dir/disk" --rw=read --bs=4k --offset=8M \
	--size=16M
claim "beyond the device is an error of its own" reports 34
claim "a job behind the device" refuses "file:$dir/disk" --rw=read --bs=4k --offset=32M \
	--size=4M
claim "more than the device" refuses "file:$dir/disk" --rw=randread --bs=4k --size=32M
claim "a second job beyond the device" refuses "file:$dir/disk" --rw=read --bs=4k --size=16M \
	--numjobs=2 --offset_increment=8M
pattern="offset=1000 .* 512"
claim "an offset inside a block" refuses "mem:16M?block=512" --rw=read --bs=4k --offset=1000 \
	--size=1M
claim "the end of the device" with "file:$dir/disk" --rw=read --bs=4k --offset=8M

# Options that the engine cannot honour have a line each.
for option in filename=/dev/null directory=/tmp nrfiles=2 mem=mmap atomic=1 prio=1 prioclass=2 \
	sync_file_range=write:8 write_barrier=8 zonemode=zbd write_hint=short ioscheduler=none \
	fadvise_hint=random pre_read=1 unlink=1 buffered=1 direct=0; do
	pattern="${option%%=*}="
	claim "--$option is refused" refuses mem:16M --rw=write --bs=4k --size=1M --$option
done
claim "direct=1" with mem:16M --rw=write --bs=4k --size=1M --direct=1
claim "buffered=1 of file:" with "file:$dir/disk" --rw=read --bs=4k --size=64k --buffered=1
pattern="direct= is given twice"
claim "direct= goes to the URI" refuses "file:$dir/disk?direct=1" --rw=read --bs=4k --size=64k \
	--direct=0
fails()
{
	! with "$@" >"$dir/said" 2>&1
}
claim "an error of the device is one of fio's" fails \
	"mem:16M?fault=error,op=write,after=100" --rw=write --bs=4k --size=4M
claim "jobs write beside each other" with "file:$dir/disk" --rw=write --size=1M --numjobs=2
"$build/annex" bench block "file:$dir/disk?readonly=1" --seconds 60 >/dev/null &
reader=$!
until grep -q " OFDLCK .* READ .*:$(stat -c %i "$dir/disk") 0 " /proc/locks; do
	kill -0 "$reader" || break
done
pattern="something else uses it"
claim "no job writes beside a reader" refuses "file:$dir/disk" --rw=write --size=1M
claim "a job reads beside a reader" with "file:$dir/disk" --rw=read --size=1M
kill "$reader"
wait "$reader"
compare "file:$dir/disk?readonly=1"
claims_end

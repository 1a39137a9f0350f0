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
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$dir"' EXIT
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
refuses()
{
	! with "$@" >"$dir/said" 2>&1 && grep -q "annex: .*$pattern" "$dir/said"
}
pattern="No such file"
claim "a device that is not there" refuses file:/nonexistent/disk --rw=read --size=1M
pattern="unknown scheme"
claim "no device" refuses nothing:1M --rw=read --size=1M
fails()
{
	! with "$@" >"$dir/said" 2>&1
}
claim "an error of the device is one of fio's" fails \
	"mem:16M?fault=error,op=write,after=100" --rw=write --bs=4k --size=4M
compare "file:$dir/disk?readonly=1"
claims_end

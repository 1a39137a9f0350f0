# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# One device for many processes: a daemon, its parts, their users, and its end.

claim "serve has help" "$annex" serve --help
holds "with an example" grep -q "annex part add" out
claim "part add has help" "$annex" part add --help
claim "part set has help" "$annex" part set --help
claim "part remove has help" "$annex" part remove --help

# served OPTION... - A daemon in the background, which has said that it is ready: $server.
served()
{
	local line
	mkfifo ready || return
	timeout 300 "$annex" serve --socket "${sock:-sock}" "$@" >ready 2>"${lines:-serve.err}" &
	server=$!
	read -r -t 30 line <ready
	rm ready
	ready=$line
	[[ $line == ready:* || $line == "{" ]]
}

# ends WORDS - It ends regularly on SIGTERM, and leaves no socket.
ends()
{
	kill -TERM "$server"
	if wait "$server" && [ ! -e sock ] && [ ! -s serve.err ]; then
		ok
	else
		cat serve.err
		fail "$1"
	fi
}

refused "no device" "name the device" "$annex" serve
refused "a device that is not there" "cannot open the device" "$annex" serve --socket sock \
	--table t file:none/none
truncate -s 64M disk
refused "no table for data that lasts" "--table FILE is needed" "$annex" serve --socket sock \
	file:disk
refused "a table that is none" "is no table of parts" "$annex" serve --socket sock --table disk \
	file:disk
refused "a folder that is not there" "No such file" "$annex" serve --socket none/sock mem:1M
refused "no mode" "permissions to read and write" "$annex" serve --socket sock --mode 0777 mem:1M
refused "a mode without a bit" "only root could connect" "$annex" serve --socket sock \
	--mode 0 mem:1M
refused "no device before no table" "unknown scheme" "$annex" serve --socket sock shm:disk
refused "a status of a mode" "no other option but --json" "$annex" serve --status sock --mode 0600
refused "a status of another socket" "no other option" "$annex" serve --status --socket sock
refused "the default socket" "$PWD/annex-serve.sock: No such" env XDG_RUNTIME_DIR="$PWD" \
	"$annex" serve --status
refused "two passed sockets" "passed 2 sockets" \
	sh -c 'LISTEN_PID=$$ LISTEN_FDS=2 exec "$@"' - "$annex" serve mem:1M
# As systemd starts it, with a socket; its name has gone, for there is no leftover.
cat >passed.py <<'EOS'
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind("passed")
os.unlink("passed")
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[1], sys.argv[1:])
EOS
refused "a mode of a passed socket" "set SocketMode=" \
	python3 passed.py "$annex" serve --mode 0600 mem:1M
refused "another socket than the passed one" "made the socket: passed" \
	python3 passed.py "$annex" serve --socket sock mem:1M
refused "no clients" "--clients 0" "$annex" serve --socket sock --clients 0 mem:1M
refused "too many clients" "--clients 65" "$annex" serve --socket sock --clients 65 mem:1M
refused "no daemon to ask" "No such file" "$annex" serve --status sock
refused "no daemon to open" "No such file" "$annex" verify "unix:sock?part=a" --read-only
refused "no daemon to add to" "No such file" "$annex" part add sock a 1M

# A table gives all of the device away, which holds something else: nothing is made, or written.
printf data >disk
truncate -s 64M disk
before=$(sha256sum <disk)
refused "a device with data and no table" "disk holds data: give --overwrite to overwrite it" \
	"$annex" serve --socket sock --table t file:disk
holds "its data is as it was" test "$(sha256sum <disk)" = "$before" -a ! -e t
if served --table t --overwrite file:disk; then
	ok
else
	fail "a daemon gets ready"
fi
refused "the same name again" "another process serves there" "$annex" serve --socket sock mem:1M
refused "the same device again" "something else uses it" "$annex" serve --socket sock2 --table t2 \
	--overwrite file:disk
rm -f t2
mkfifo fifo
refused "a table that is no file" "is no file" "$annex" serve --socket sock2 --table fifo mem:1M
rm fifo
refused "a table at the name of a socket" "sock" "$annex" serve --socket sock2 --table sock mem:1M
refused "no table for a daemon that is no one" "another process serves there" "$annex" serve \
	--socket sock --table t3 mem:1M
claim "a part" "$annex" part add sock a 16M
claim "another, of another user" "$annex" part add sock b 8M --owner 61234:61235 --mode 0640
refused "the same part again" "File exists" "$annex" part add sock a 1M
refused "a part that is too large" "40.0 MiB of 64.0 MiB are free, beside 2 parts" \
	"$annex" part add sock c 64M
refused "a size that is no multiple" "1000 bytes are not a multiple of the block size, 512" \
	"$annex" part add sock c 1000
refused "a name that begins as an option" "begins with a letter" "$annex" part add sock .c 1M
refused "no name" "1 to 63 bytes" "$annex" part add sock '' 1M
for owner in :root root: ''; do
	refused "an owner that is $owner" "give USER or USER:GROUP" \
		"$annex" part add sock c 1M --owner "$owner"
done
refused "the number of no user" "no user 4294967295" "$annex" part add sock c 1M --owner 4294967295
refused "a part for its daemon" "the daemon's socket alone" \
	"$annex" part add 'unix:sock?part=c' c 1M
refused "a name that is a path" "a name is letters" "$annex" part add sock ../c 1M
refused "no size" "a socket, a part and its size" "$annex" part add sock c
refused "no such user" "there is no user unknown-name" \
	"$annex" part add sock c 1M --owner unknown-name
refused "no such part" "there is no part" "$annex" part remove sock c
refused "none to be changed" "there is no part c" "$annex" part set sock c --mode 0640
refused "no change" "nothing to change: give" "$annex" part set sock b
refused "a rate that is too small" "a number from 1048576" "$annex" part set sock b --rate 1000
claim "the daemon's parts" "$annex" serve --status unix:sock
holds "are counted" grep -q "^2 parts, 24.0 MiB of 64.0 MiB$" out
holds "are a table" grep -qE "^b +8.0 MiB 61234:61235 +0640 +100 +any +0 " out
claim "another rate and owner" "$annex" part set sock b --rate 4M --owner 61236 --first
claim "are seen" "$annex" serve --status sock
holds "and nothing else changed" grep -qE "^b +8.0 MiB 61236:61236 +0640 +first +4.0 MiB +0 " out
holds "and the limit of the others" grep -q "with priority: at most 128.0 KiB in flight$" out
claim "no rate, and a weight" "$annex" part set sock b --rate none --weight 7
claim "are seen, too" "$annex" serve --status sock
holds "instead" grep -qE "^b +8.0 MiB 61236:61236 +0640 +7 +any +0 " out
claim "in JSON" "$annex" serve --status sock --json
value "all of the device" device_bytes 67108864
value "a piece" piece_bytes 131072
holds "both" test "$(grep -c '"name":' out)" = 2

uri="unix:$PWD/sock?part=a"
claim "verify a part" "$annex" verify "$uri" --overwrite --json
value "all of it" bytes 16777216
claim "it is there" "$annex" verify "$uri" --read-only
claim "with a thread" "$annex" verify "$uri&serve=thread" --read-only
claim "bench of a part" "$annex" bench block "$uri" --seconds 0.2 --verify
refused "no part" "part= names a part" "$annex" verify "unix:sock" --read-only
refused "a part that is not there" "there is no part" "$annex" verify "unix:sock?part=x" --read-only
refused "no such parameter" "direct" "$annex" verify "$uri&direct=1" --read-only
refused "writes to one that is read only" "[Rr]ead-only" "$annex" verify "$uri&readonly=1" \
	--overwrite
claim "a fault of a part" "$annex" verify "$uri&fault=delay,us=2000,count=20" --overwrite
# Unit tests of devices hold of a part, too.
for suite in nvme/device_io cache/cache_threads; do
	unit=$here/../../build/unit-${suite%/*}
	[ ! -x "$unit" ] ||
		claim "suite ${suite#*/}" env ANNEX_TEST_DEVICE="$uri" "$unit" "${suite#*/}"
done
claim "a graph for a part" "$annex" graph gen kron --scale 12 --output g.csr
claim "is copied to it" "$annex" copy g.csr "$uri" --overwrite
refused "the same part twice" "the same device" "$annex" copy g.csr "$uri" "unix:sock?part=a" \
	--overwrite
claim "and searched there" "$annex" graph bfs g.csr --device "$uri" --cache 256K --json
claim "the daemon's counts" "$annex" serve --status sock --json
holds "failed commands are counted" grep -q '"failed":' out
ends "the daemon ends"

if served --table t file:disk; then
	ok
else
	fail "a daemon starts again"
fi
holds "with its parts" test "$ready" = \
	"ready: 64.0 MiB at unix:sock?part=NAME, 2 parts"
claim "its parts are there" "$annex" serve --status sock --json
holds "both" test "$(grep -c '"name":' out)" = 2
claim "removing one" "$annex" part remove sock b
claim "again" "$annex" serve --status sock --json
holds "only one" test "$(grep -c '"name":' out)" = 1
ends "it ends, too"

old=$(umask)
umask 077
if served mem:8M --metrics m.prom --json; then
	ok
else
	fail "a daemon of memory, with counters"
fi
umask "$old"
claim "a part of it" "$annex" part add unix:sock a 4M
claim "is one" "$annex" serve --status sock
holds "part" grep -q "^1 part, 4.0 MiB of 8.0 MiB$" out
claim "that is used" "$annex" verify "$uri" --overwrite
ends "it ends with its counters"
holds "and a piece" grep -q "^annex_serve_piece_bytes 131072$" m.prom
holds "which are Prometheus'" grep -q "^# TYPE annex_part_commands_total counter" m.prom
holds "for everybody to read" test "$(stat -c %a m.prom)" = 644

sock=$'so\nck'
served mem:1M
holds "a line has no other line in it" test "$ready" = \
	"ready: 1.0 MiB at unix:so%0ack?part=NAME, 0 parts"
sock=
kill -TERM "$server"
holds "it ends" wait "$server"
long=$(printf '%063d' 0)
if served mem:8M; then
	ok
else
	fail "a daemon for long names"
fi
claim "a long name" "$annex" part add sock "$long" 1M --owner 4294967294:4294967294
claim "and a short one" "$annex" part add sock a 1M
claim "are in a table" "$annex" serve --status sock
holds "whose columns are straight" \
	test "$(head -n 3 out | awk '{ print length }' | uniq | wc -l)" = 1
ends "it ends in order"

# says WORDS PATTERN - The daemon's next line on stderr, which is waited for.
says()
{
	local line
	read -r -t 30 -u 9 line
	holds "$1" grep -qE "^annex serve: warning: --metrics: $2" <<<"$line"
}

# Counters that cannot be written: a reason not to start, but none to end.
refused "counters in a folder that is not there" "cannot write none/m.prom: No such file" \
	"$annex" serve --socket sock --metrics none/m.prom mem:1M
holds "before it is ready" test ! -s out
mkfifo pipe
refused "metrics in place of a pipe" "--metrics: pipe is not a regular file" \
	"$annex" serve --socket sock --metrics pipe mem:1M
lines=lines
mkfifo $lines
exec 9<>$lines
mkdir counts
if served mem:8M --metrics counts/m.prom; then
	ok
else
	fail "a daemon with counters in a folder"
fi
child=$(pgrep -P "$server")
holds "which are there when it is ready" test -s counts/m.prom
rm -r counts
kill -USR1 "$child"
says "without the folder it warns" "cannot write counts/m.prom: No such file"
kill -USR1 "$child"
claim "and goes on" "$annex" serve --status sock
mkdir counts
kill -USR1 "$child"
says "when it is back it says so, and has said nothing else" "counts/m.prom is written again"
holds "it is" test -s counts/m.prom
rm -r counts
kill -USR1 "$child"
says "it warns again" "cannot write counts/m.prom: No such file"
ends "it ends as it does without"
holds "in silence" test "$(read -r -t 0 -u 9; echo $?)" -ne 0
exec 9>&-
lines=

# A device under two names is one, for daemons and for other writers.
truncate -s 64M behind
loop=
if [ "$(id -u)" -eq 0 ] && loop=$(losetup --show -f behind 2>/dev/null) &&
	mknod node b "0x$(stat -c %t "$loop")" "0x$(stat -c %T "$loop")" &&
	: 2>/dev/null <node; then
	for pair in "$loop node" "node $loop" "node node"; do
		if served --table t2 --overwrite "file:${pair% *}"; then
			ok
		else
			fail "a daemon on the device ${pair% *}"
		fi
		refused "another on ${pair#* }" "something else uses it" "$annex" serve \
			--socket sock2 --table t3 --overwrite "file:${pair#* }"
		refused "a graph to ${pair#* }" "another process writes" "$annex" copy g.csr \
			"file:${pair#* }" --overwrite
		ends "that of ${pair% *} ends"
		rm -f t2 t3
	done
	# And one that the kernel uses is not written to.
	if mkfs.ext4 -Fq "$loop" 2>/dev/null && mkdir -p mnt && mount "$loop" mnt 2>/dev/null; then
		"$annex" serve --socket sock2 --table t2 --overwrite "file:$loop" >out 2>err
		holds "a mounted device is not served" test $? -eq 1
		holds "and why" grep -q "is mounted on .*/mnt; force=1 permits" err
		"$annex" bench block "file:$loop" --write --overwrite --seconds 0.1 >out 2>err
		holds "nor written to" test $? -eq 1
		holds "and why" grep -q "is mounted on .*/mnt; force=1 permits" err
		claim "it is read in silence" \
			"$annex" bench block "file:$loop?readonly=1" --seconds 0.1
		umount mnt
		holds "its file system is whole" e2fsck -fn "$loop" >out 2>&1
	else
		skip "a device that is mounted (this user cannot mount)"
	fi
	rm -rf mnt t2
else
	skip "a device under two names (no loop device, or no nodes, for this user)"
fi
[ -z "$loop" ] || losetup -d "$loop"
rm -f node behind

# A file that ends inside a block: its users see its bytes and zeroes, and cannot make it longer.
truncate -s 1000001 odd
before=$(sha256sum <odd)
if served --table t2 --overwrite file:odd; then
	ok
else
	fail "a daemon on a file of 1000001 bytes"
fi
claim "all of its blocks are a part" "$annex" part add sock a 1000448
claim "which is read" "$annex" bench block "unix:$PWD/sock?part=a" --size 512 --ios 3000
holds "and not changed" test "$(sha256sum <odd)" = "$before"
refused "data behind its end" "LBA 1953 failed.*0x080" "$annex" verify "unix:$PWD/sock?part=a" \
	--overwrite --size 512 --order sequential --depth 1 --threads 1
holds "it keeps its size" test "$(stat -c %s odd)" -eq 1000001
kill -TERM "$server"
wait "$server"
holds "the daemon has told it once" test "$(grep -c "keeps its 1000001 bytes" serve.err)" -eq 1
rm -f t2 odd

# A daemon that is killed leaves a name, which the next one takes. Its reader has lost no writes.
if served --table t file:disk; then
	ok
else
	fail "a daemon to be killed"
fi
claim "a part that is only read" "$annex" part add sock quiet 1M
"$annex" bench block 'unix:sock?part=quiet' --seconds 60 >out 2>err &
reader=$!
until "$annex" serve --status sock | awk '$1 == "quiet" && $7 {found = 1} END {exit !found}' ||
	! kill -0 $reader; do
	:
done
child=$(pgrep -P "$server")
kill -KILL "$child"
wait "$server" 2>/dev/null
wait $reader
holds "a reader fails when it is gone" grep -q '^annex bench block: .*unix:sock' err
holds "and tells of no lost writes" sh -c '! grep -q "writes may be lost" err'
holds "its name stays" test -S sock
refused "and no daemon answers" "no process serves there" "$annex" serve --status sock
if served --table t file:disk; then
	ok
else
	fail "the next daemon takes the name"
fi
claim "the written parts are there" "$annex" serve --status sock
ends "the last one ends"
rm -f lines disk t t.new m.prom g.csr serve.err passed.py

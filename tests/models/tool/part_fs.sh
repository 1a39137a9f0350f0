# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# File systems on CXL-SSDs: annex fs. They are mounted where FUSE can be used.

fs=("$annex" fs)

claim "a file system" "${fs[@]}" mkfs --size 64M disk --json
value "is as large as the device" device_bytes 67108864
holds "the manual of JSON has its members" grep -q '`free_inodes`' "$here/../../docs/json.md"
refused "another one over it" "has a file system: --force" "${fs[@]}" mkfs disk
claim "unless it is told to" "${fs[@]}" mkfs --force disk --inodes 3000
claim "its sizes" "${fs[@]}" stat disk --json
holds "as many inodes" test "$(number inodes)" -ge 3000
holds "one of them is in use" test "$(number free_inodes)" -eq $(($(number inodes) - 1))
holds "no block is" test "$(number free_blocks)" -eq "$(number blocks)"
claim "a table of them" "${fs[@]}" stat "cxlssd:$dir/disk?size=64M"
claim "nothing is wrong in it" "${fs[@]}" fsck disk
holds "it says so" grep -qx '0 files, 1 directory, .*: clean' out
holds "and mentions unread data" grep -q '^data of files were not read' out
claim "nor by another look" "${fs[@]}" fsck disk --json
holds "in JSON" grep -q '"clean": true' out
claim "small ones" "${fs[@]}" mkfs 'cxlssd:small?size=1M'
claim "of a device whose data are no file system" "$annex" bench hdm 'cxlssd:range?size=16M' \
	--bytes 8M --seconds 0.01
refused "data" "holds data .*: --force" "${fs[@]}" mkfs range
refused "that are no file system" "annex fs mkfs makes one" "${fs[@]}" stat range
claim "unless it is told to" "${fs[@]}" mkfs --force range
rm -f small range

for command in mkfs stat fsck; do
	refused "$command of nothing" "name the file" "${fs[@]}" $command
	refused "$command of two" "one device too many" "${fs[@]}" $command disk disk
	refused "$command in memory" "ends with the process" "${fs[@]}" $command 'cxlssd:?size=64M'
	refused "$command of no CXL-SSD" "needs a CXL-SSD" "${fs[@]}" $command mem:64M
	refused "$command of no device" "there is no file none" "${fs[@]}" $command none
	refused "$command with a parameter of no kind" "colour" "${fs[@]}" $command \
		'cxlssd:disk?colour=1'
done
for command in mkfs stat; do
	refused "$command with another log" "needs log=bytefs" "${fs[@]}" $command \
		'cxlssd:disk?log=skybyte'
	refused "$command with a small log" "log_size=512K at least" "${fs[@]}" $command \
		'cxlssd:disk?dram=512K'
done
for bad in 'new?size=64M&page=512' 'new?size=64M&log=none' 'new?size=1K' 'new?size=64M&size=1M'; do
	refused "a device that cannot be, $bad" "new" "${fs[@]}" mkfs "cxlssd:$bad"
done
refused "too many inodes" "too few for" "${fs[@]}" mkfs --size 64M --inodes 1G new
refused "no such design" "none of bytefs" "${fs[@]}" mkfs --design xfs --size 64M new
refused "no size" "--size=1G" "${fs[@]}" mkfs new
echo text >text
refused "over a text" "no backing file" "${fs[@]}" mkfs --force text
refused "a text" "no backing file" "${fs[@]}" stat text
refused "one name only" "name the directory too" "${fs[@]}" mount disk

# status NUMBER WORDS COMMAND... - It ends with this status.
status()
{
	local wanted=$1 words=$2
	shift 2
	timeout 60 "$@" >out 2>err
	rc=$?
	if [ $rc -eq "$wanted" ]; then
		ok
	else
		fail "$words (exit $rc, not $wanted): $*"
	fi
}
status 8 "no file system" "${fs[@]}" fsck text
status 16 "an option of no kind" "${fs[@]}" fsck --repair disk

# Damage in the superblock's page of flash; it has a copy in the last block.
claim "a new device" "${fs[@]}" mkfs --size 16M bad
first=$(grep -abo annexfs bad | awk -F: '$1 % 4096 == 0 { print $1; exit }')
printf X | dd of=bad bs=1 seek="$first" conv=notrunc status=none
refused "a damaged superblock" "annex fs fsck lists" "${fs[@]}" stat bad
refused "is no reason to make another" "a damaged one" "${fs[@]}" mkfs bad
status 4 "it is found" "${fs[@]}" fsck bad
holds "named" grep -q '^the superblock in block 0 is damaged$' out
holds "counted" grep -q ': 3 problems$' out
holds "told what to do about" grep -q 'copy all readable files' err
status 4 "in JSON too" "${fs[@]}" fsck bad --json
holds "named" grep -q '"the superblock in block 0 is damaged"' out
value "all of them" problems 3
rm bad

# looks DISK - Commands that only look at it change no byte, and need no right to.
looks()
{
	local sum
	sum=$(cksum <"$1")
	chmod 444 "$1"
	chattr +i "$1" 2>/dev/null
	claim "sizes" "${fs[@]}" stat "$1"
	claim "a check" "${fs[@]}" fsck "$1"
	[ $# -lt 2 ] || "${@:2}"
	chattr -i "$1" 2>/dev/null
	chmod 600 "$1"
	holds "every byte is as it was" test "$(cksum <"$1")" = "$sum"
}
looks disk
refused "another one on a file to read" "opened for reading only" \
	"${fs[@]}" mkfs --force 'cxlssd:disk?readonly=1'

# run.sh unmounts a directory of this name in any case.
at=$dir/full
mkdir "$at"

# mounts OPTION... - In the foreground; server is its process. Only that is killed, no power is cut.
# shellcheck disable=SC2120 # holds passes them
mounts()
{
	"${fs[@]}" mount -f "$@" "cxlssd:disk?durable=model" "$at" >said 2>&1 &
	server=$!
	until mountpoint -q "$at"; do
		kill -0 $server 2>/dev/null || return
	done
}

# unmounted WORDS COMMAND... - A command that ends the server, which has nothing to say.
unmounted()
{
	claim "$1" "${@:2}"
	wait $server && ok || { cp said out; fail "it has written all"; }
	holds "it is unmounted" eval '! mountpoint -q "$at"'
	claim "nothing is wrong" "${fs[@]}" fsck disk
	holds "really" grep -q ': clean$' out
}

# Each is a claim by its name.
fs_tree()
{
	cp -a "$here/../../include" "$at/tree" && diff -r "$here/../../include" "$at/tree"
}

fs_links()
{
	ln "$at/tree/annex/hdm.h" "$at/hard" && ln -s tree/annex/hdm.h "$at/soft" &&
		[ "$(stat -c %h "$at/hard")" -eq 2 ] && cmp "$at/hard" "$at/soft" &&
		rm "$at/hard" && [ "$(stat -c %h "$at/tree/annex/hdm.h")" -eq 1 ] &&
		[ "$(readlink "$at/soft")" = tree/annex/hdm.h ] &&
		ln -s "$(printf 'x%.0s' {1..4000})" "$at/long" &&
		[ "$(readlink "$at/long" | wc -c)" -eq 4001 ]
}

fs_renames()
{
	mkdir "$at/a" "$at/b" && echo 1 >"$at/a/f" && echo 2 >"$at/b/f" &&
		mv "$at/a/f" "$at/b/f" && [ "$(cat "$at/b/f")" = 1 ] && mv "$at/b" "$at/a/c" &&
		[ "$(cat "$at/a/c/f")" = 1 ] && ! mv "$at/a" "$at/a/c/d" &&
		! rmdir "$at/a" && rm -r "$at/a" && [ ! -e "$at/a" ]
}

fs_sizes()
{
	seq 1 10000 >"$at/numbers" && truncate -s 100 "$at/numbers" &&
		cmp "$at/numbers" <(seq 1 10000 | head -c 100) &&
		truncate -s 1M "$at/numbers" && [ "$(stat -c %s "$at/numbers")" -eq 1048576 ] &&
		[ "$(tail -c +101 "$at/numbers" | tr -d '\0' | wc -c)" -eq 0 ] &&
		[ "$(stat -c %b "$at/numbers")" -le 16 ] &&
		seq 1 10 >>"$at/numbers" && [ "$(tail -n 1 "$at/numbers")" = 10 ] &&
		fallocate -p -o 0 -l 4096 "$at/numbers" &&
		[ "$(head -c 4096 "$at/numbers" | tr -d '\0' | wc -c)" -eq 0 ]
}

fs_direct()
{
	dd if=/dev/urandom of=random bs=64K count=32 status=none &&
		dd if=random of="$at/direct" bs=64K oflag=direct conv=fsync status=none &&
		cmp random "$at/direct" &&
		dd if="$at/direct" bs=128K iflag=direct status=none | cmp - random &&
		dd if=random of="$at/direct" bs=4K count=3 seek=5 conv=notrunc oflag=direct,sync \
			status=none &&
		cmp -n 12288 random <(tail -c +20481 "$at/direct") &&
		dd if="$at/direct" bs=4K skip=5 count=3 iflag=direct status=none |
		cmp -n 12288 - random
}

# A mapping of a file, read() and write() see the same.
fs_mapping()
{
	python3 - "$at/mapped" <<-'END'
		import mmap, os, sys
		fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
		os.ftruncate(fd, 1 << 20)
		m = mmap.mmap(fd, 1 << 20)
		for i in range(0, 1 << 20, 4096):
		    m[i:i + 8] = b"%08d" % i
		os.pwrite(fd, b"written", 500000)
		assert m[500000:500007] == b"written"
		m[12:19] = b"mapping"
		direct = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
		page = mmap.mmap(-1, 4096)
		assert os.preadv(direct, [page], 0) == 4096 and page[12:19] == b"mapping"
		page[12:19] = b"directs"
		assert os.pwritev(direct, [page], 0) == 4096 and m[12:19] == b"directs"
	END
	[ "$(head -c 8 "$at/mapped")" = 00000000 ] && [ "$(tail -c 4096 "$at/mapped" |
		head -c 8)" = 01044480 ]
}

# A process writes a file by asynchronous O_DIRECT, others read it: read() has the bytes of each
# write that is complete.
fs_async()
{
	python3 - "$at/async" <<-'END'
		import ctypes, mmap, os, signal, struct, sys
		PIECE, PIECES, TURNS = 160 << 12, 4, 50
		IO_SETUP, IO_GETEVENTS, IO_SUBMIT = 206, 208, 209
		libc = ctypes.CDLL(None, use_errno=True)
		def call(*args):
		    n = libc.syscall(*map(ctypes.c_void_p, args))
		    assert n >= 0, os.strerror(ctypes.get_errno())
		    return n
		fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_DIRECT)
		os.posix_fallocate(fd, 0, PIECES * PIECE)
		page = mmap.mmap(-1, PIECE)
		at = ctypes.addressof(ctypes.c_char.from_buffer(page))
		context = ctypes.c_ulong()
		call(IO_SETUP, 1, ctypes.addressof(context))
		# struct iocb: IOCB_CMD_PWRITE is 1.
		iocb = ctypes.create_string_buffer(64)
		pointer, event = ctypes.c_void_p(ctypes.addressof(iocb)), (ctypes.c_int64 * 4)()
		buffered, stale, readers = os.open(sys.argv[1], os.O_RDONLY), 0, []
		for i in range(3):
		    child = os.fork()
		    while not child and os.getppid() != 1:
		        for at in range(0, PIECES * PIECE, 1 << 16):
		            os.pread(buffered, 1 << 16, at)
		    readers.append(child)
		for turn in range(TURNS):
		    page[:] = struct.pack("<Q", turn) * (PIECE // 8)
		    iocb[:] = struct.pack("<QIiHhIQQqQII", 0, 0, 0, 1, 0, fd, at, PIECE,
		                          turn % PIECES * PIECE, 0, 0, 0)
		    call(IO_SUBMIT, context.value, 1, ctypes.addressof(pointer))
		    call(IO_GETEVENTS, context.value, 1, 1, ctypes.addressof(event), 0)
		    assert event[2] == PIECE, event[2]
		    stale += os.pread(buffered, PIECE, turn % PIECES * PIECE) != page[:]
		for r in readers:
		    os.kill(r, signal.SIGKILL)
		sys.exit(f"{stale} of {TURNS} writes are not seen" if stale else 0)
	END
}

fs_unnamed()
{
	local rc=0
	exec 5<>"$at/unnamed"
	rm "$at/unnamed" && echo still >&5 && [ "$(cat /proc/self/fd/5)" = still ] || rc=1
	exec 5>&-
	return $rc
}

fs_attributes()
{
	echo x >"$at/file" && touch -d '1999-12-31 23:59:59.123456789 UTC' "$at/file" &&
		[ "$(TZ=UTC stat -c %y "$at/file")" = '1999-12-31 23:59:59.123456789 +0000' ] &&
		chmod 1751 "$at/file" && [ "$(stat -c %a "$at/file")" = 1751 ] &&
		{ [ "$(id -u)" -ne 0 ] || {
			chown 12:34 "$at/file" && chmod 6755 "$at/file" && echo x >>"$at/file" &&
				[ "$(stat -c '%a %u %g' "$at/file")" = '6755 12 34' ] &&
				chown 12:35 "$at/file" && [ "$(stat -c %a "$at/file")" = 755 ]
		}; }
}

# fs_time GIVEN KEPT - A file keeps this time.
fs_time()
{
	touch -d "$1 UTC" "$at/file" && [ "$(TZ=UTC stat -c %y "$at/file")" = "$2 +0000" ] &&
		[ "$(TZ=UTC stat -c %x "$at/file")" = "$2 +0000" ]
}

fs_times()
{
	echo x >"$at/file"
	fs_time '1969-12-31 23:59:58.75' '1969-12-31 23:59:58.750000000' &&
		fs_time '1970-01-01 00:00:00' '1970-01-01 00:00:00.000000000' &&
		fs_time '1901-12-13 20:45:51' '1901-12-13 20:45:51.000000000' &&
		fs_time '1677-09-21 00:12:44' '1677-09-21 00:12:44.000000000' &&
		fs_time '2262-04-11 23:47:16' '2262-04-11 23:47:16.000000000' &&
		fs_time '1600-01-01 00:00:00' '1677-09-21 00:12:43.145224192' &&
		fs_time '2500-01-01 00:00:00' '2262-04-11 23:47:16.854775807'
}

# A directory hands its group on.
fs_group()
{
	mkdir "$at/group" && chmod 2775 "$at/group" && mkdir "$at/group/a" && touch "$at/group/b" &&
		[ "$(stat -c %A "$at/group/a" | cut -c 7)" = s ] &&
		[ "$(stat -c %g "$at/group/b")" = "$(stat -c %g "$at/group")" ]
}

fs_extended()
{
	python3 - "$at/xattr" <<-'END'
		import errno, os, sys
		f = sys.argv[1]
		open(f, "w").close()
		os.setxattr(f, "user.long", b"v" * 3000)
		os.setxattr(f, "user.empty", b"")
		assert sorted(os.listxattr(f)) == ["user.empty", "user.long"]
		assert os.getxattr(f, "user.long") == b"v" * 3000
		assert os.getxattr(f, "user.empty") == b""
		os.removexattr(f, "user.empty")
		assert os.listxattr(f) == ["user.long"]
		for call, code in ((lambda: os.getxattr(f, "user.empty"), errno.ENODATA),
		                   (lambda: os.setxattr(f, "user.big", b"v" * 4000), errno.ENOSPC),
		                   (lambda: os.setxattr(f, "system.posix_acl_access", b"\2\0\0\0"),
		                    errno.EOPNOTSUPP)):
		    try:
		        call()
		        raise SystemExit("no error")
		    except OSError as e:
		        assert e.errno == code, e
	END
}

fs_names()
{
	local long odd=$'\xff new\nline'
	long=$(printf 'n%.0s' {1..255})
	echo 1 >"$at/$long" && ! touch "$at/${long}n" 2>why && grep -q 'too long' why &&
		[ "$(cat "$at/$long")" = 1 ] && touch "$at/$odd" && [ -e "$at/$odd" ] &&
		rm "$at/$odd" && mkfifo "$at/fifo" && [ -p "$at/fifo" ] && mkdir "$at/many" &&
		(cd "$at/many" && seq 1 2000 | xargs touch) &&
		[ "$(find "$at/many" -type f | wc -l)" -eq 2000 ] && rm -r "$at/many"
}

fs_full()
{
	! dd if=/dev/zero of="$at/zeroes" bs=1M status=none 2>why && grep -q 'No space' why &&
		rm "$at/zeroes" && echo x >"$at/x" && [ "$(cat "$at/x")" = x ]
}

# writes DIR LOG - Files that are fsynced, each noted after that; until something fails.
fs_writes()
{
	python3 - "$1" "$2" <<-'END'
		import os, sys
		log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
		for i in range(1 << 20):
		    try:
		        fd = os.open(f"{sys.argv[1]}/{i}", os.O_WRONLY | os.O_CREAT)
		        os.write(fd, f"{i} ".encode() * (i * 37 % 3000 + 1))
		        os.fsync(fd)
		        os.close(fd)
		    except OSError:
		        break
		    os.write(log, f"{i}\n".encode())
	END
}

fs_wrote()
{
	python3 - "$1" "$2" <<-'END'
		import sys
		for i in map(int, open(sys.argv[2])):
		    assert open(f"{sys.argv[1]}/{i}").read() == f"{i} " * (i * 37 % 3000 + 1), i
	END
}

fs_mounted()
{
	local words
	for words in tree links tmpfile renames sizes direct async mapping unnamed attributes \
		times group extended names full; do
		holds "$words" "fs_$words"
	done
	claim "df" df "$at"
	holds "of the device" grep -q "$dir/disk" out
	unmounted "an end" fusermount3 -u "$at"
	claim "a mount in the background" "${fs[@]}" mount disk "$at"
	holds "the tree is there" diff -r "$here/../../include" "$at/tree"
	holds "the mapping's pages are" test "$(tail -c 4096 "$at/mapped" | head -c 8)" = 01044480
	refused "a second mount" "is mounted on $at" "${fs[@]}" mount disk .
	refused "on the same directory" "mounted there already" "${fs[@]}" mount disk "$at"
	refused "its sizes" "is mounted on $at" "${fs[@]}" stat disk
	refused "another file system" "is mounted on $at" "${fs[@]}" mkfs --force disk
	claim "the end of it" fusermount3 -u "$at"
	claim "which is waited for" "${fs[@]}" stat disk
	holds "read only" mounts -o ro
	holds "nothing can be made" eval '! touch "$at/new" 2>why && grep -q Read-only why'
	unmounted "a signal" kill $server
	refused "an option of no kind" "bogus" "${fs[@]}" mount -o bogus disk "$at"
	refused "no directory" "not a directory" "${fs[@]}" mount disk text
	refused "none at all" "No such file" "${fs[@]}" mount disk none
}

# O_TMPFILE, where libfuse has it: a file without a name gets one.
fs_tmpfile()
{
	python3 - "$at" <<-'EOF'
	import errno, os, sys
	try:
	    fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR, 0o600)
	except OSError as e:
	    sys.exit(e.errno != errno.EOPNOTSUPP)
	os.write(fd, b"named late")
	name = sys.argv[1] + "/late-name"
	os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=0, follow_symlinks=True)
	sys.exit(open(name).read() != "named late" or os.stat(name).st_nlink != 1)
	EOF
}

# In a control group of version 1 with little memory, an allocation may wait for a dirty page of a
# mapping, which the mount is to write back. It is mounted only where the kernel spares it that: by
# PF_MEMALLOC_NOIO, as /proc tells, or by writing back copies, up to Linux 6.15.
fs_limited()
{
	local group=/sys/fs/cgroup/memory/annex-$$ flags may
	may=$((0x$(sed -n 's/^CapEff:\s*//p' /proc/self/status) >> 24 & 1)) # CAP_SYS_RESOURCE
	mkdir "$group" 2>/dev/null && echo 512M >"$group/memory.limit_in_bytes" ||
		{ skip "a group with little memory: no right to make one of v1"; return; }
	# shellcheck disable=SC2016 # the inner shell's
	local inside=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
	if printf '%s\n' 6.16 "$(uname -r)" | sort -CV && [ $may -eq 0 ]; then
		refused "a mount that may hang" "CAP_SYS_RESOURCE" \
			"${inside[@]}" "${fs[@]}" mount disk "$at"
	else
		claim "a mount that does not" "${inside[@]}" "${fs[@]}" mount disk "$at"
		flags=$(sed 's/.*) //' "/proc/$(tail -n 1 "$group/cgroup.procs")/stat" |
			cut -d ' ' -f 7)
		[ $may -eq 0 ] ||
			holds "waits for no page" test $((flags & 0x80000)) -ne 0
		claim "its end" fusermount3 -u "$at"
	fi
	claim "one to read" "${inside[@]}" "${fs[@]}" mount -o ro disk "$at"
	claim "its end" fusermount3 -u "$at"
	claim "which is waited for" "${fs[@]}" fsck disk
	while [ -n "$(cat "$group/cgroup.procs")" ]; do :; done
	rmdir "$group"
}

# A program that has a file open when the signal comes goes on with it.
fs_busy()
{
	holds "a mount that is in use" mounts
	exec 5>"$at/open"
	kill $server
	while mountpoint -q "$at"; do :; done
	holds "still takes writes" eval 'echo late >&5'
	exec 5>&-
	unmounted "and ends afterwards" true
	holds "mounted again" mounts
	holds "it is there" test "$(cat "$at/open")" = late
	exec 5<"$at/open"
	kill $server
	while mountpoint -q "$at"; do :; done
	unmounted "a second signal does not wait" kill $server
	exec 5<&-
}

fs_read_only()
{
	holds "a mount to read" mounts -o ro
	holds "has fsynced data" fs_wrote "$at/crash" written
	holds "and its tree" diff -r "$here/../../include" "$at/tree"
	unmounted "its end" fusermount3 -u "$at"
}

fs_killed()
{
	local writer
	holds "a mount" mounts
	mkdir "$at/crash"
	: >written
	fs_writes "$at/crash" written 2>/dev/null &
	writer=$!
	until [ "$(wc -l <written)" -ge 200 ] || ! kill -0 $writer 2>/dev/null; do :; done
	kill -KILL $server
	wait $server $writer 2>/dev/null
	claim "a mount whose process was killed" fusermount3 -u -z "$at"
	looks disk fs_read_only
	claim "has nothing wrong" "${fs[@]}" fsck disk
	holds "really" grep -q ': clean$' out
	holds "is mounted again" mounts
	holds "many files were written" test "$(wc -l <written)" -ge 200
	holds "each has fsynced data" fs_wrote "$at/crash" written
	holds "and the tree is as it was" diff -r "$here/../../include" "$at/tree"
	unmounted "an end" fusermount3 -u "$at"
}

# Without fsync.
fs_commits()
{
	local before until=$((SECONDS + 20))
	holds "a mount that writes back every second" mounts --commit 1
	echo late >"$at/late"
	before=$(cksum <disk)
	while [ "$(cksum <disk)" = "$before" ] && [ $SECONDS -lt $until ]; do :; done
	kill -KILL $server
	wait $server 2>/dev/null
	claim "which was killed" fusermount3 -u -z "$at"
	holds "is mounted again" mounts
	holds "the written data are there" test "$(cat "$at/late")" = late
	unmounted "an end" fusermount3 -u "$at"
}

# A page of a file is damaged in flash, and a part of it is written: the rest cannot be read.
fs_lost()
{
	local place
	holds "a mount" mounts
	seq -s damaged 2000 | head -c 4096 >"$at/damaged"
	unmounted "an end" fusermount3 -u "$at"
	for place in $(grep -abo "$(seq -s damaged 20)" disk | cut -d: -f1); do
		printf X | dd of=disk bs=1 seek="$place" conv=notrunc status=none
	done
	holds "a mount with a damaged page" mounts
	dd if=/dev/zero of="$at/damaged" bs=3008 count=1 conv=notrunc status=none
	echo whole >"$at/beside"
	claim "its end" fusermount3 -u "$at"
	wait $server && fail "has a status" || ok
	holds "says why" grep -q 'some writes .* are lost.* 1 files cannot be written back' said
	holds "mounted again" mounts
	holds "another file is there" test "$(cat "$at/beside")" = whole
	rm "$at/damaged" "$at/beside"
	unmounted "an end" fusermount3 -u "$at"
}

# Others cut the file of the device, copy another one over it, or put one in its place.
fs_foreign()
{
	local words how
	cp disk saved
	claim "another device" "${fs[@]}" mkfs --size 64M other
	for words in 'cut:truncate -s 0 disk' 'written over:cp other disk' \
		'has replaced it:mv other disk'; do
		how=${words#*:}
		holds "a mount" mounts
		echo before >"$at/before"
		sync "$at/before"
		echo after >"$at/after"
		$how
		[ "${how%% *}" = mv ] || holds "$how: fsync fails" eval '! sync "$at/after" 2>why'
		claim "$how: its end" fusermount3 -u "$at"
		wait $server && fail "$how: has a status" || ok
		holds "$how: says why" grep -q "${words%%:*}" said
		cp saved disk
	done
	rm saved
}

# handles WHAT FILE - By name_to_handle_at(): note handles of a directory and files in FILE, or open
# these.
handles()
{
	python3 - "$at" "$1" "$2" <<-'END'
		import ctypes, os, sys
		at, what, file = sys.argv[1:]
		libc = ctypes.CDLL(None, use_errno=True)
		class Handle(ctypes.Structure):
		    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
		                ("data", ctypes.c_ubyte * 128)]
		names = ["handles"] + [f"handles/{i}" for i in range(10)]
		h, mount, fd = Handle(), ctypes.c_int(), os.open(at, os.O_RDONLY)
		if what == "note":
		    os.mkdir(f"{at}/handles")
		    with open(file, "wb") as out:
		        for name in names:
		            if name != "handles":
		                open(f"{at}/{name}", "w").write(name)
		            h.bytes = 128
		            assert not libc.name_to_handle_at(fd, name.encode(), ctypes.byref(h),
		                                              ctypes.byref(mount), 0)
		            out.write(bytes(h))
		else:
		    with open(file, "rb") as noted:
		        for name in names:
		            noted.readinto(h)
		            got = libc.open_by_handle_at(fd, ctypes.byref(h), os.O_RDONLY)
		            assert got >= 0, f"{name}: {os.strerror(ctypes.get_errno())}"
		            assert name == "handles" or os.read(got, 99).decode() == name
		            os.close(got)
	END
}

# A kernel that knows nothing of a file but its handle, as that of an NFS server.
fs_handles()
{
	[ "$(id -u)" -eq 0 ] || { skip "file handles: this user is not root"; return; }
	holds "a mount" mounts
	holds "has file handles" handles note noted
	unmounted "its end" fusermount3 -u "$at"
	holds "mounted again" mounts
	holds "they are still good" handles open noted
	rm "$at/handles/9"
	unmounted "its end" fusermount3 -u "$at"
	holds "mounted again" mounts
	holds "one of a file that was removed is not" eval '! handles open noted 2>why'
	holds "as it is stale" grep -q 'handles/9: Stale' why
	unmounted "its end" fusermount3 -u "$at"
}

# Bytes by kind and interface.
fs_reports()
{
	holds "a mount that reports" mounts --report --json
	echo text >"$at/reported"
	unmounted "its end" fusermount3 -u "$at"
	holds "tells bytes of inodes" grep -q '"kind": "inode"' said
	holds "and pages of flash" grep -q '"flash_pages": [1-9]' said
	holds "the manual of JSON has them" grep -q '`flash_pages`' "$here/../../docs/json.md"
	refused "a report in the background" "need --foreground" "${fs[@]}" mount --report disk \
		"$at"
	refused "JSON of nothing" "needs --report" "${fs[@]}" mount -f --json disk "$at"
}

fs_by_blocks()
{
	claim "a file system by blocks" "${fs[@]}" mkfs --force --design ext4-like disk --json
	holds "names it" grep -q '"design": "ext4-like"' out
	holds "its mount" mounts
	holds "takes a tree" fs_tree
	unmounted "an end of it" fusermount3 -u "$at"
	fs_killed
	fs_commits
}

if mounts && mountpoint -q "$at"; then
	fs_mounted
	fs_handles
	fs_foreign
	fs_limited
	fs_busy
	fs_killed
	fs_commits
	fs_lost
	fs_reports
	fs_by_blocks
else
	skip "mounting: $(cat said)"
fi

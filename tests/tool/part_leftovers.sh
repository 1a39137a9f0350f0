# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# A command that fails or is interrupted leaves nothing, and a result has its name when it is whole.

# begun PID - The command has opened a file here to write it, by whatever name, or is over.
begun()
{
	local end=$((SECONDS + 30)) fd
	while kill -0 "$1" 2>/dev/null && [ $SECONDS -lt $end ]; do
		for fd in /proc/"$1"/fd/*; do
			case $(readlink "$fd") in
			"$dir"/out | "$dir"/err | "$dir"/input*) ;;
			"$dir"/*) return ;;
			esac
		done
	done
}

# interrupted SIGNAL WORDS COMMAND... - The signal ends it, and it leaves no new file.
# A shell's background commands ignore SIGINT, hence env. Nothing was interrupted if it was done: it
# told how long it took.
interrupted()
{
	local sig=$1 words=$2 before pid rc end
	shift 2
	before=$(ls)
	env --default-signal=INT "$@" >out 2>err &
	pid=$!
	begun $pid
	{ kill -s "$sig" $pid; } 2>/dev/null
	end=$((SECONDS + 30))
	while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $end ]; do :; done
	{ kill -KILL $pid; } 2>/dev/null
	wait $pid 2>/dev/null
	rc=$?
	if [ $rc -eq 0 ] || { [ $rc -eq $((128 + $(kill -l "$sig"))) ] &&
		{ [ "$(ls)" = "$before" ] || grep -q '^  time ' out; }; }; then
		ok
	else
		fail "$words, SIG$sig (exit $rc; $(echo ./made*)): $*"
	fi
	rm -rf made*
}

# Slow commands are slow for ten minutes: the signal comes while it is under way.
slow='fault=delay,us=600000000,count=0'
claim "a graph" "$annex" graph gen kron --scale 10 -o input.csr
claim "a vector" "$annex" vadd gen input.a --size 4M
claim "another" "$annex" vadd gen input.b --size 4M
truncate -s 4M input.c
for sig in INT TERM HUP KILL; do
	interrupted $sig "vadd" "$annex" vadd "file:input.a?$slow,op=read,after=20" input.b \
		-o made.c --cache 512K
	interrupted $sig "vadd gen" "$annex" vadd gen made.a --size 1G
	interrupted $sig "graph gen" "$annex" graph gen kron --scale 18 -o made.csr
	interrupted $sig "copy" "$annex" copy input.csr "file:made.a?$slow,op=write" file:made.b
	[ $sig = KILL ] && continue
	interrupted $sig "scan gen" "$annex" scan gen --rows 20M -o made
	interrupted $sig "verify" "$annex" verify "file:made?$slow,op=write" --bytes 1M
	interrupted $sig "bench" "$annex" bench block "file:made?$slow,op=write" --bytes 1M --write
done

# A limit on the size of files, in KiB.
limited()
{
	local words=$1 kib=$2
	shift 2
	# shellcheck disable=SC2016 # for the inner shell
	refused "$words beyond the limit of a file's size" "too large|No space|ENOSPC" bash -c \
		'ulimit -f '"$kib"'; exec "$@"' limited "$@"
}
limited "vadd gen" 1024 "$annex" vadd gen made --size 4M
limited "vadd" 1024 "$annex" vadd input.a input.b -o made --cache 512K
limited "vadd over a file" 1024 "$annex" vadd input.a input.b -o input.c --overwrite --cache 512K
limited "graph gen" 64 "$annex" graph gen kron --scale 12 -o made.csr
limited "copy" 64 "$annex" copy input.csr file:made
limited "scan gen" 64 "$annex" scan gen --rows 1M -o made
limited "trace gen" 64 "$annex" trace gen synthetic --kernels 20000 -o made.json
limited "verify" 64 "$annex" verify file:made --bytes 1M
limited "bench" 64 "$annex" bench block file:made --bytes 1M --write
limited "bench hdm" 64 "$annex" bench hdm 'shm:made?size=8M'

refused "copy whose second file fails" "nowhere" "$annex" copy input.csr file:made \
	file:nowhere/made
refused "vadd that cannot write, by its name" "made" "$annex" vadd input.a input.b \
	-o 'file:made?fault=error,op=write,count=0'
rm -f input.*

# A command that cannot remove its files says so, although all else went well.
refuse="$here/refuse.py"
mkdir kept
printf 'id,x\n1,2\n3,4\n' >input.csv
if "$refuse" EPERM remove -- true 2>held; then
	refused "scan that cannot remove its columns" \
		"cannot remove kept/annex-scan\..*not permitted" \
		env TMPDIR=kept "$refuse" EPERM remove -- "$annex" scan --csv input.csv \
		--where 'x>2'
else
	echo "skipped: commands that cannot remove files (no seccomp)"
fi
rm -rf kept input.csv

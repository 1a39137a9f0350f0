# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# How much of annex.ko guests have run, on kernels that count its lines (gcov); sourced by run.sh.
# $kernel/gcov has what all machines have counted since annex.ko was built last.

# coverage_take FOLDER LINE - What a machine has counted of one source: "PATH BASE64".
coverage_take()
{
	local path=${2%% *}
	[[ $path =~ ^kernel(/[a-z]+)+\.gcda$ ]] || return
	mkdir -p "$1/${path%/*}" && base64 -d <<<"${2#* }" >"$1/$path"
}

# coverage_add FOLDER - Add its counters to the ones of other machines.
coverage_add()
{
	local all=$kernel/gcov
	[ -e "$1" ] || return 0
	exec 6>"$all.lock" && flock 6 || return
	rm -rf "$all.new"
	if [ -e "$all" ]; then
		gcov-tool merge "$all" "$1" -o "$all.new"
	else
		cp -r "$1" "$all.new"
	fi && rm -rf "$all" && mv "$all.new" "$all"
	exec 6>&-
}

# coverage_tell - Of each source how many lines were run, and of all; the others are listed.
coverage_tell()
{
	[ ! -e "$kernel/gcov" ] || python3 "$here/coverage.py" "$kernel/gcov" \
		"$build/module/$(cat "$kernel/release")" "$kernel/lines-not-run"
}

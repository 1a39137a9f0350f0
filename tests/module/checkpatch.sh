#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's own style check, of the module and its header: checkpatch.sh DIR. Debian has it in
# linux-source only; the three files of it that are needed are kept in DIR.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1

dir=$1
scripts=(scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch})

fetch()
{
	local tmp
	tmp=$(mktemp -d) || return
	# shellcheck disable=SC2064 # now is meant
	trap "rm -rf '$tmp'" EXIT
	(
		cd "$tmp" || exit
		apt-get -qq -o APT::Sandbox::User=root download linux-source-6.12 &&
			dpkg-deb -x linux-source-6.12_*.deb . &&
			tar -xf usr/src/linux-source-6.12.tar.xz --strip-components=1 \
				"${scripts[@]/#/linux-source-6.12/}"
	) || {
		echo "apt-get could not download linux-source-6.12; as root: apt-get update"
		return 1
	}
	mkdir -p "$dir" && mv "$tmp/scripts" "$dir/"
}

# What it asks of files of the kernel's tree and cannot be done elsewhere: one source for all
# versions, macros that make functions by name, and the form that tracepoints have in every driver.
ignored()
{
	case $1 in
	kernel/compat.h) echo LINUX_VERSION_CODE,CONSTANT_COMPARISON ;;
	kernel/sysfs.c) echo MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE ;;
	kernel/trace.h) echo OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT ;;
	*) echo NONE ;;
	esac
}

[ -e "$dir/scripts/checkpatch.pl" ] || fetch || exit 1
bad=0
for file in Kbuild kernel/*.[ch] include/uapi/annex.h; do
	perl "$dir/scripts/checkpatch.pl" --no-tree --strict --terse --show-types --no-summary \
		--max-line-length=100 --ignore "$(ignored "$file")" -f "$file" || bad=1
done
exit $bad

#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's own style check, of the module and its header: checkpatch.sh DIR. Debian has it in
# linux-source only; the three files of it that are needed are kept in DIR.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1

dir=$1
scripts=(scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch})

# Rules that code outside of the kernel's tree cannot follow: one source for all versions, macros
# that define functions by name, and the usual form of tracepoints.
ignored()
{
	case $1 in
	kernel/compat.h) echo LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED ;;
	kernel/nvme/driver.c) echo MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE ;;
	kernel/trace.h) echo OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT ;;
	*) echo NONE ;;
	esac
}

# Fetch into a new folder, and rename it when it is complete.
if [ ! -e "$dir/scripts/checkpatch.pl" ]; then
	rm -rf "$dir.new"
	tests/module/source.sh 6.12 "$dir.new" "${scripts[@]}" && mkdir -p "$dir" &&
		mv "$dir.new/scripts" "$dir/" && rmdir "$dir.new" || exit 1
fi
bad=0
for file in Kbuild kernel/*.[ch] kernel/*/*.[ch] include/uapi/*.h; do
	perl "$dir/scripts/checkpatch.pl" --no-tree --strict --terse --show-types --no-summary \
		--max-line-length=100 --ignore "$(ignored "$file")" -f "$file" || bad=1
done
exit $bad

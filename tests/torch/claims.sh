# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Python programs that count claims, for scripts that have read tests/claim.sh.

# claims COMMAND... - Its last line says how many of its own have passed and failed.
claims()
{
	local p='' f=''
	"$@" >told 2>&1 || failed=$((failed + 1))
	sed '$d' told
	read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' told | tail -n 1)
	if [ -n "$p" ]; then
		passed=$((passed + p))
		[ "$f" -eq 0 ] || failed=$((failed + f - 1))
	else
		tail -n 1 told
		[ $failed -gt 0 ] || failed=1
	fi
}

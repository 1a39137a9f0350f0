# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Every call on CXL memory with every field out of range has a precise answer; the memory of one
# user is out of reach of all others.
# machines: flat
# limit: 60
. /test/lib.sh

[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
with_hdm
claim "all calls are answered as they should be" hdmcalls "$first" /dev/null
claim "nothing is left of it" no_range "$first"
claim "wrong calls were counted" [ "$(cat "/sys/class/annex/annex!$first/hdm/refusals")" -gt 30 ]
claim "it unloads" rmmod annex

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
percent=/sys/module/annex/parameters/struct_page_percent
chmod 666 "/dev/annex/$first"
echo 0 >$percent
claim "no memory of the host is left for users' pages" \
	refused "Disk quota exceeded" nobody hdm time "$first"
claim "root has a range" hdm time "$first"
echo 25 >$percent
claim "users have one when there is some" nobody hdm time "$first"
claim "it unloads" rmmod annex

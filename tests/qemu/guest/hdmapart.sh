# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What one process has of a range's uncached memory no other one reaches, not even with its file; it
# is free when that process ends, though the file is not.
# limit: 40
. /test/lib.sh

[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
with_hdm
claim "two processes, each with its own" hdmapart "$first"
claim "nothing is left of it" no_range "$first"
claim "it unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Suites of the unit tests that an emulated processor alone cannot run, since they need io_uring or
# userfaultfd: SUITES on the kernel's command line, as ROOM/SUITE,ROOM/SUITE.
# programs: unit-exec unit-migrate unit-serve unit-ssd
# limit: 1800
. /test/lib.sh

for suite in $(echo "$SUITES" | tr , ' '); do
	claim "the suite $suite passes" "unit-${suite%/*}" "${suite#*/}"
done

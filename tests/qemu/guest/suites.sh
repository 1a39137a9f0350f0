# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Suites of the unit tests, SUITES on the kernel's command line, that an emulated processor alone
# cannot run: they need io_uring or userfaultfd.
# limit: 1800
. /test/lib.sh

for suite in $(echo "$SUITES" | tr , ' '); do
	claim "the suite $suite passes" unit "$suite"
done

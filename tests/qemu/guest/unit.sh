# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The unit tests of queues, devices and the cache run on a controller as they do on emulated ones.
# machines: old
# limit: 240
. /test/lib.sh

with_module
# Each kernel has one way of waiting, and in the long form both.
case $(uname -r) in
6.1.*) waits="sleep" ;;
*) waits="poll" ;;
esac
[ "${LONG:-0}" != 1 ] || waits="poll sleep"
for wait in $waits; do
	export ANNEX_TEST_DEVICE="$uri?wait=$wait"
	for suite in nvme/device_io cache/cache_threads; do
		claim "the suite ${suite#*/} passes on it, with wait=$wait" \
			"unit-${suite%/*}" "${suite#*/}"
	done
done
modprobe nvme
claim "it is unbound" annex unbind "$address"
rmmod annex nvme

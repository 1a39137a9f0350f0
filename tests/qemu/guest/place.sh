# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Data comes back unchanged, wherever queues and data lie.
# machines: cross
# limit: 300
. /test/lib.sh

no_such_place()
{
	place "$@"
	[ $? -eq 2 ]
}

# Without ALL=1 each place once for queues and once for data, and both in the same.
skipped()
{
	[ "${ALL:-0}" != 1 ] && [ "$1" != any ] && [ "$2" != any ] && [ "$1" != "$2" ]
}

with_module
for queues in any host cmb provider; do
	for data in any pages host cmb provider; do
		! skipped $queues $data || continue
		case $queues,$data in
		provider,pages) continue ;; # one provider for both
		*provider*) [ -e /dev/udmabuf ] || continue ;; # Debian's 6.1 has none
		esac
		# Without an IOMMU, queues need memory in one piece.
		[ $queues != provider ] || [ "$IOMMU" != 0 ] || continue
		claim "queues in $queues, data in $data memory" place "$uri" $queues $data
	done
done
claim "completion queues in controller memory are refused" no_such_place "$uri?cq=cmb" any any
modprobe nvme
claim "it is unbound" annex unbind "$address"
rmmod nvme
claim "it unloads" rmmod annex

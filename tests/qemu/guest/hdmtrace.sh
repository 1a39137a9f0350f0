# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The module's tracepoints record the use of CXL memory, and of a controller.
# machines: flat
# limit: 120
. /test/lib.sh

with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
record
claim "one device: data is in its memory" hdm fill "$first" 0
hdm fill "$first" 0 >range
base=$(sed -n 's/^base \(0x[0-9a-f]*\) .*/\1/p' range)
at="base=$base bytes=0x10000000"
claim "its decoder is committed" recorded "annex_hdm_commit: $first id=0 $at err=0"
claim "there is a range" recorded "annex_hdm_range: annex.$first $at ways=1 err=0"
claim "it is mapped" recorded "annex_hdm_map: annex.$first offset=0x0 bytes=0x10000000 err=0"
claim "its decoder is given back" recorded "annex_hdm_decommit: $first id=0 $at err=0"
if [ "$CXL" -gt 1 ]; then
	claim "and so is that of the bridge" eval 'recorded "annex_hdm_commit: bridge" &&
		recorded "annex_hdm_decommit: bridge .* err=0"'
fi
claim "no poison is seen" eval '! recorded "annex_hdm_poison: .* offset=0x7806000"'
# QEMU keeps its list until it ends: this page is not what other tests touch.
claim "poison is injected" host cxl-inject-poison path=/machine/peripheral/cxl0 \
	start=$((0x7806000)) length=64
claim "it is asked for" hdm poison "$first"
claim "then it is seen" \
	recorded "annex_hdm_poison: annex.$first offset=0x7806000 bytes=0x1000"

claim "queues and data of a controller are in it" hdm dmabuf "$first" "pci:$address"
claim "its memory" recorded "annex_map: annex.$address id=.* kind=3 bytes=.* err=0"
claim "its queues" recorded "annex_queue: annex.$address qid=1 depth=32 err=0"
claim "their end" recorded "annex_queue_delete: annex.$address id=1 err=0"
claim "that of its memory" recorded "annex_unmap: annex.$address id=.* err=0"
no_record
claim "disabled tracepoints record nothing" eval 'echo >/sys/kernel/tracing/trace;
	hdm fill "$first" 0 && ! recorded annex_hdm'
claim "it unloads" rmmod annex

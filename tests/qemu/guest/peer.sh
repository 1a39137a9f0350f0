# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Controller memory of one controller is a dma-buf, into which another controller reads.
# limit: 120
. /test/lib.sh

[ "$NVME" -gt 1 ] || skip "there is one controller"
with_module
a=$address
b=$(controllers | sed -n 2p)
claim "another controller is bound" annex bind "$b" || exit 1

# has_peers - Devices may access each other: the kernel allows it of this processor.
has_peers()
{
	grep -q ' pci_p2pdma_distance_many$' /proc/kallsyms &&
		awk '/^cpu family/ { zen = $4 >= 23 } END { exit !zen }' /proc/cpuinfo
}

lost_and_removed()
{
	loses_power && echo 1 >"/sys/bus/pci/devices/$a/remove"
}

# ends [end|fail] COMMAND... - The dma-buf ends by that while the importer has it mapped.
ends()
{
	start peer "$a" "$b" "$1"
	shift
	hears 20 ready && "$@" && hears 20 ended && wait "$pid"
}

if ! has_peers; then
	claim "where devices cannot access each other it is refused" peer "$a" "$b" refused
	claim "with a line" eval 'dmesg | grep -q "dma-buf: .*\(P2PDMA\|peer-to-peer\)"'
	claim "it unloads" rmmod annex
	exit
fi
claim "data goes both ways" peer "$a" "$b" data
claim "the exporter's file is closed while the importer has it mapped" peer "$a" "$b" close
claim "a reset ends it" ends end reset_outside
claim "its unbinding ends it" ends end bind_again
claim "so does its removal" ends end pull 0
claim "the exporter is there again" within 15 plug 0
claim "and appears" within 5 [ -e "/sys/bus/pci/devices/$a" ]
claim "it is bound" annex bind "$a"
claim "a loss of power without notice ends it" ends end lost_and_removed
claim "the exporter has power again" has_power
claim "it is bound" annex bind "$a"
address=$b
claim "it has another owner after the importer failed" ends fail loses_power
echo 1 >"/sys/bus/pci/devices/$b/remove"
claim "the importer has power again" has_power
claim "the kernel saw nothing wrong" clean_log
claim "it unloads" rmmod annex

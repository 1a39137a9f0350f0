# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Pages of hugetlbfs are mapped for a controller, whole and in part, and pinned once.
# machines: cross
# limit: 60
. /test/lib.sh

with_module
echo 4 >/proc/sys/vm/nr_hugepages
claim "data is right in huge and small pages, and each huge page is pinned once" huge "$uri"
claim "no page stays pinned" no_pins
echo 0 >/proc/sys/vm/nr_hugepages
claim "all huge pages can be freed" within 5 grep -q '^HugePages_Total: *0$' /proc/meminfo
modprobe nvme
claim "it is unbound" annex unbind "$address"
rmmod nvme
claim "it unloads" rmmod annex

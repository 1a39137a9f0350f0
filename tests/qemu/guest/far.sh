# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The far machine of a pair: it offers its disk over NVMe/TCP by both networks, and does what the
# near one asks for, until that has ended.
# limit: 36000
. /test/lib.sh

modprobe nvme
modprobe nvmet_tcp
mount -t configfs none /sys/kernel/config
card 0 1
card 1 1
within 10 disk 0 || exit 1
. /test/nvmet.sh
subsystem "$(disk 0)"
offer 0
offer 1
nc -ll -p 9 -e sh

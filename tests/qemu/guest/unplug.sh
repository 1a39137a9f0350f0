# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller that is pulled takes its disk with it, and can be plugged in again.
. /test/lib.sh

gone() { ! disk 0; }

modprobe nvme
claim "the disk is there" within 5 disk 0 || exit 1
claim "the controller is pulled" pull 0
# After its attention button a port's driver waits 5 s for a second press, which cancels.
claim "the disk disappears within 15 s" within 15 gone
claim "the controller is plugged in again" within 5 plug 0
claim "the disk comes back within 5 s" within 5 disk 0
# A program that looks at the new disk may have it open.
claim "the driver unloads" within 5 rmmod nvme

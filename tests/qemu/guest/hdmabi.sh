# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The module has exactly the files in sysfs that docs/ABI describes, and each has one value.
# machines: flat
# limit: 60
. /test/lib.sh

# ours - The module's files, of all devices; what every device has is the kernel's.
ours()
{
	for file in /sys/class/annex/*/*; do
		case ${file##*/} in
		dev | device | power | subsystem | uevent | waiting_for_supplier) continue ;;
		esac
		[ -d "$file" ] || { echo "$file"; continue; }
		ls -d "$file"/*
	done
}

# patterns - Of the files that are described.
patterns()
{
	sed -n 's/^What:[[:space:]]*//p' /test/sysfs-class-annex | sed 's/<address>/*/'
}

# described FILE
described()
{
	patterns >patterns
	while read -r pattern; do
		# shellcheck disable=SC2254 # a pattern is wanted
		case $1 in
		$pattern) return 0 ;;
		esac
	done <patterns
	echo "$1 is not in docs/ABI"
	return 1
}

all_described()
{
	ours >ours
	[ "$(wc -l <ours)" -gt 20 ] || return 1
	while read -r file; do
		described "$file" || return 1
	done <ours
}

all_there()
{
	patterns >patterns
	[ -s patterns ] || return 1
	while read -r pattern; do
		# shellcheck disable=SC2086 # as a pattern
		ls -d $pattern >/dev/null || return 1
	done <patterns
}

# One line of one word, or nothing.
one_value()
{
	for file in $(ours); do
		counts=$(wc -lw <"$file") || return 1
		# shellcheck disable=SC2086 # two numbers
		set -- $counts
		[ "$1" -le 1 ] && [ "$2" -eq "$1" ] || { echo "$file:"; cat "$file"; return 1; }
	done
}

with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
claim "every file is described" all_described
claim "every file that is described is there" all_there
claim "each has one value, or none" one_value
# The first two are below one bridge on all machines.
cxl_devices | head -n 2 >members
list=$(tr '\n' , <members)
mkfifo go
exec 6<>go
start hdm hold "${list%,}" go
claim "there is a range" hears 20 holding
claim "each file has one value then" one_value
ways=$(wc -l <members)
claim "how many members it has" is "$(range "$first" ways)" "$ways"
claim "the first of them" is "$(range "$first" member0)" "$(head -n 1 members)"
claim "no more than there are" is "$(range "$first" "member$ways")" ""
claim "where it is" grep "^ *$(range "$first" base | sed s/0x//)-.* : annex" /proc/iomem
echo end >&6
claim "its user ends" ended 0
claim "it unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A drive of another machine's, over NVMe/TCP: by ng: and file: as any other, and while links, the
# other machine and its drives come and go. Waits end in a result or in an error, and written data
# is there.
# machines: pair
# programs: annex train
# limit: 900
. /test/lib.sh

# path N - The controller that is connected by network N.
path()
{
	for ctrl in /sys/class/nvme/nvme*; do
		! grep -qs "traddr=10.0.$1.1," "$ctrl/address" || { echo "$ctrl"; return; }
	done
	return 1
}

is_live()
{
	ctrl=$(path "$1") && [ "$(cat "$ctrl/state")" = live ]
}

is_lost()
{
	! is_live "$1"
}

# link N on|off
link()
{
	host set_link "name=net$1" "up=$([ "$2" = on ] && echo true || echo false)"
}

# gone - Wholly: what connects beside the last of it finds no disk before Linux 6.12.
gone()
{
	! far_disk && [ -z "$(ls /sys/class/nvme-subsystem)" ]
}

# loaded URI MS UNTIL - Threads read and verify, in waits of so long at most.
loaded()
{
	start life load "$@"
	claim "$1: threads read and verify" hears 30 loaded
}

# late yes|no - They have ended; some waits were over, or none was.
late()
{
	claim "all waits end" hears 90 verified
	echo "# $heard" >&3
	case $heard in
	*" late 0 "*) some=no ;;
	*) some=yes ;;
	esac
	claim "waits that were over: $1" is $some "$1"
	claim "the device can be closed" ended 0
}

# breaks N - Network N fails under load and comes back, as the paths say.
breaks()
{
	claim "network $1 fails" link "$1" off
	claim "its path is lost" within 30 is_lost "$1"
	claim "network $1 is mended" link "$1" on
	claim "its path comes back" within 30 is_live "$1"
}

with_far
uri=ng:$far_node
file="file:$far_disk?direct=1"
claim "random commands agree with a model, and with the block device" ng agree "$uri" $far_disk
claim "annex verify" annex verify "$file" --overwrite --bytes 4M
claim "vectors are made" vectors
claim "their sum is written there through a cache, and verified" sum "$uri"
claim "and to the block device" sum "$file"
claim "a network is trained in a space there, as in plain memory" \
	train 8 256 32 6 "$uri" 1200000

claim "a second path" within 10 connect 1 60
claim "is live" within 10 is_live 1
claim "a pattern is written" life fill "$uri"
for device in "$uri" "$file"; do
	loaded "$device" 60000 term
	breaks 0
	breaks 1
	kill $pid
	late no
done

# dark, bright - Both networks fail, and are mended.
dark()
{
	claim "network 0 fails" link 0 off
	claim "and network 1" link 1 off
	claim "no path is left" within 30 is_lost 0
	claim "no path is left at all" within 30 is_lost 1
}

bright()
{
	claim "network 0 is mended" link 0 on
	claim "and network 1" link 1 on
	claim "its path comes back" within 30 is_live 0
	claim "the other, too" within 30 is_live 1
}

# given_up - All waits have ended; the kernel still has the memory of reads that it cannot finish.
given_up()
{
	! ended 0 >said_last && cat said_last && grep -q "still uses the range" said_last
}

# For longer than waits are. The kernel cannot be made to let go of a block device's I/O, so such a
# device is given up, while one of commands goes on.
loaded "$uri" 2000 term
dark
bright
kill $pid
late yes
claim "the data is whole" life check "$uri"
loaded "$file" 2000 gone
dark
claim "all waits end" given_up
bright
claim "the data is whole" life check "$file"

# The far machine takes its disk back, offers it again, and starts anew.
loaded "$uri" 60000 term
claim "the far machine takes its disk back" far ". /test/nvmet.sh; take_back 0; take_back 1"
claim "its path is lost" within 30 is_lost 0
claim "it is offered again" far ". /test/nvmet.sh; offer 0; offer 1"
claim "its path comes back" within 30 is_live 0
claim "the other, too" within 30 is_live 1
claim "the far machine is reset" far_host system_reset
claim "its path is lost" within 30 is_lost 0
claim "its path comes back" within 60 is_live 0
claim "the other, too" within 60 is_live 1
kill $pid
late no
claim "random commands agree with a model" ng agree "$uri" $far_disk

# For good.
claim "a pattern is written" life fill "$uri"
for n in 0 1; do
	echo 1 >"$(path $n)/delete_controller"
done
claim "the disk goes" within 10 gone
claim "it is connected for a short time" connect 0 3
claim "and is here" within 10 far_disk
uri=ng:$far_node
claim "the data is whole" life check "$uri"
loaded "$uri" 60000 gone
claim "network 0 fails" link 0 off
claim "the kernel gives the disk up" within 30 gone
claim "all waits end" hears 30 verified
claim "the device can be closed" ended 0
claim "it cannot be opened" refused "No such" life check "$uri"
claim "network 0 is mended" link 0 on
claim "it is connected again" within 30 connect 0 60
claim "and is here" within 10 far_disk
uri=ng:$far_node
claim "the data is whole" life check "$uri"
claim "no page stays pinned" within 5 no_pins
claim "the driver unloads" within 10 rmmod nvme_tcp

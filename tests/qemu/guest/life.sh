# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Owners that fork, become another program, or end without closing, leave nothing behind either.
# machines: cross
# limit: 180
. /test/lib.sh

no_pins()
{
	left=$(($(pinned) - pins))
	[ $left -eq 0 ] || { echo "$left pages stay pinned"; return 1; }
}

takes_off()
{
	throttle 0 10 && start life flight "$uri" 128 "$1" && hears 20 flying &&
		[ "${heard#flying }" -ge 64 ]
}

lands()
{
	throttle 0 0 && life check "$uri"
}

has_child()
{
	hears 10 child && child=${heard#child }
}

still_pinned()
{
	[ "$(pinned)" -gt "$pins" ]
}

with_module
claim "a pattern is written" life fill "$uri"
pins=$(pinned)

claim "an owner has commands in flight" takes_off exit
claim "it ends without closing the file" ended 0
claim "no page stays pinned" no_pins
claim "the next owner works at once" lands

# The file is closed at exec, so that the new program may open it: it verifies.
claim "an owner has commands in flight" takes_off exec
claim "the disk is as fast as ever" throttle 0 0
claim "it becomes another program, which becomes the owner" ended 0
claim "no page stays pinned" no_pins
claim "the next owner works at once" lands

claim "an owner has commands in flight" takes_off fork
claim "it has a child, which sees neither doorbells nor queues" has_child
claim "it is killed" kill -KILL "$pid"
claim "and it ends" ended 137
claim "the child still has the file" refused "another program has it open" life check "$uri"
claim "and the memory" still_pinned
claim "the child is killed" kill -KILL "$child"
claim "then no page stays pinned" within 5 no_pins
claim "the next owner works" within 5 lands

claim "an owner has commands in flight" takes_off finish
claim "it has a child, which writes to its copy of the data" has_child
claim "they may end" throttle 0 0
claim "the owner gets the data read, not the child" hears 20 verified
claim "the child ends" kill -KILL "$child"
claim "the owner ends" kill -KILL "$pid"
claim "it has" ended 137
claim "the next owner works" within 5 lands
claim "no page stays pinned" no_pins
claim "it unloads" rmmod annex

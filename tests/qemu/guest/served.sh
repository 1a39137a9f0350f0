# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A daemon has the controller from annex.ko, and processes without any right use parts of it. Their
# data stays where it is when a process dies.
# machines: kernel
# limit: 120
. /test/lib.sh

socket=/run/drive0
part="'unix:$socket?part=a'"

served()
{
	start annex serve "$uri" --socket $socket --table /run/parts --overwrite && hears 20 ready:
}

# told NAME - A number of the part, as the daemon has it.
told()
{
	annex serve --status $socket --json | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

no_clients()
{
	is "$(told clients)" 0
}

# busy MORE - So many commands more have been carried out than $had.
busy()
{
	[ "$(told commands)" -ge $((had + $1)) ]
}

# with_client COMMAND... - Run it while a client of another user, $client, has commands in flight.
with_client()
{
	had=$(told commands)
	su nobody -s /bin/sh -c "exec annex bench block $part --seconds 600 --threads 1" \
		>bench 2>&1 &
	client=$!
	within 20 busy 64 && "$@"
}

client_fails()
{
	kill -KILL $pid && ended 137 && ! wait $client && cat bench && grep -q unix: bench
}

with_module
pins=$(pinned)
no_pins()
{
	left=$(($(pinned) - pins))
	[ $left -eq 0 ] || { echo "$left pages stay pinned"; return 1; }
}

claim "a daemon has it" served || exit 1
claim "no other program has it" refused "another program has it open" \
	annex verify "$uri" --read-only --bytes 1M
claim "a part is made" annex part add $socket a 8M --owner nobody
claim "another" annex part add $socket b 4M
claim "a user without rights on the controller writes a pattern to the first" \
	nobody annex verify "$part" --overwrite
claim "its data was not copied" is "$(told copied_bytes)" 0
claim "the other is root's" refused "is not for this user" \
	nobody annex verify "'unix:$socket?part=b'" --read-only
claim "and has no part of the pattern" eval '! annex verify "unix:$socket?part=b" --read-only'
claim "a client is killed with commands under way" with_client eval 'kill -KILL $client'
wait $client
claim "nothing of it is left" within 10 no_clients
claim "the pattern is whole" nobody annex verify "$part" --read-only
claim "the daemon is killed: its client says so" with_client client_fails
claim "no page stays pinned" no_pins
claim "there is another one" served || exit 1
claim "the written data is there" nobody annex verify "$part" --read-only
kill -TERM $pid
claim "it ends as it should" ended 0
claim "it unloads" rmmod annex

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Check the models with spin: run.sh BUILD_DIR. One line a configuration; fails when one does. ALL=1
# in the environment: the largest ones too, and mutations, which must be refuted for the reason
# given here: they test the models.
set -u

src=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: run.sh BUILD_DIR}
passed=0
failed=0

# build NAME MODEL DEFINES CFLAGS: a verifier in $dir/NAME. One that has to find a run that goes
# wrong is compiled for longer than it runs.
build()
{
	rm -rf "${dir:?}/$1"
	mkdir -p "$dir/$1" && cd "$dir/$1" || return 1
	# shellcheck disable=SC2086 # lists of flags
	spin $3 -a "$src/$2" >log 2>&1 &&
		${CC:-gcc} -w -DCOLLAPSE -DMEMLIM=3800 $4 -o pan pan.c >>log 2>&1
}

verdict()
{
	if [ "$2" = passed ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
	printf '%-34s %10s states  %s%s\n' "$1" "${3:-no}" "$2" "${4:+: $4}"
}

states()
{
	sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out
}

complaint()
{
	grep -m1 -e '^pan:1' -e '^error:' out || echo "did not finish, see $PWD/out"
}

# hold NAME MODEL DEFINES [live]: every run of the model is as it should be.
# live: also, fair runs end (checked with the never claim, on top of all that is checked without).
hold()
{
	if [ "${4:-}" = live ]; then
		cflags="-O2 -DNFAIR=3" flags="-a -f"
	else
		cflags="-O2 -DSAFETY -DNOCLAIM" flags=
	fi
	if ! build "$1" "$2" "$3" "$cflags"; then
		verdict "$1" failed "" "no verifier, see $dir/$1/log"
		return
	fi
	# shellcheck disable=SC2086
	if timeout 600 ./pan -m1000000 $flags >out 2>&1 && grep -q 'errors: 0$' out &&
	   ! grep -q -e 'not completed' -e 'search depth too small' out; then
		verdict "$1" passed "$(states)"
	else
		verdict "$1" failed "$(states)" "$(complaint)"
	fi
}

# refute NAME MODEL DEFINES MESSAGE: spin finds a run that ends with MESSAGE.
refute()
{
	[ "${ALL:-0}" = 1 ] || return 0
	if ! build "$1" "$2" "$3" "-O0 -DSAFETY -DNOCLAIM"; then
		verdict "$1" failed "" "no verifier, see $dir/$1/log"
		return
	fi
	timeout 600 ./pan -m1000000 >out 2>&1
	if grep -q -F "pan:1: $4" out; then
		verdict "$1" passed "$(states)" "refuted ($4)"
	elif grep -q 'errors: 0$' out; then
		verdict "$1" failed "$(states)" "not refuted"
	else
		verdict "$1" failed "$(states)" "$(complaint)"
	fi
}

mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
if ! command -v spin >/dev/null; then
	echo "run.sh: spin is not installed" >&2
	exit 1
fi

small="-DDEPTH=3 -DSUBMITTERS=2"
hold depth2-3submitters queue.pml "-DCOMMANDS=4"
[ "${ALL:-0}" != 1 ] || hold depth2-3submitters-5commands queue.pml "-DCOMMANDS=5"
hold depth2-counters-wrap queue.pml "-DCOMMANDS=4 -DTURNS=4 -DSTART=3"
hold depth2-fair-runs-end queue.pml "-DCOMMANDS=4" live
[ "${ALL:-0}" != 1 ] || hold depth3-3submitters queue.pml "-DDEPTH=3 -DCOMMANDS=3 -DPATIENT"
[ "${ALL:-0}" != 1 ] || hold depth3-2submitters queue.pml "$small -DCOMMANDS=3"
[ "${ALL:-0}" != 1 ] || hold depth3-counters-wrap queue.pml \
	"$small -DCOMMANDS=4 -DPATIENT -DTURNS=4 -DSTART=3"
hold depth3-batches queue.pml "$small -DCOMMANDS=2 -DBATCH=2"
hold depth3-fair-runs-end queue.pml "$small -DCOMMANDS=2" live

small="$small -DCOMMANDS=3"
refute mutant-free-early queue.pml "$small -DMUT_FREE_EARLY" "assertion violated (sq_head=="
refute mutant-fresh-last queue.pml "-DCOMMANDS=4 -DMUT_FRESH_LAST" "invalid end state"
refute mutant-no-recheck queue.pml "$small -DMUT_NO_RECHECK" "assertion violated ("
refute mutant-no-phase queue.pml "-DMUT_NO_PHASE" "assertion violated"
refute mutant-no-claim queue.pml "-DMUT_NO_CLAIM" "assertion violated"
refute mutant-abandon-frees queue.pml "-DMUT_ABANDON_FREES" "assertion violated  !(inflight"
refute mutant-blind-delivery queue.pml "$small -DMUT_BLIND_DELIVERY" \
	"assertion violated  !(((reqs"
refute mutant-mark-before-command queue.pml "$small -DMUT_MARK_BEFORE_COMMAND" \
	"assertion violated (sq["
refute mutant-mark-before-delivery queue.pml \
	"-DDEPTH=3 -DSUBMITTERS=2 -DCOMMANDS=4 -DPATIENT -DMUT_MARK_BEFORE_DELIVERY" \
	"assertion violated (reqs["
refute mutant-ring-before-tail queue.pml "-DMUT_RING_BEFORE_TAIL" "assertion violated (moved<="

[ "${ALL:-0}" != 1 ] || hold wait-3waiters wait.pml ""
hold wait-2waiters-again wait.pml "-DWAITERS=2 -DCOMMANDS=5"
refute mutant-first-mark wait.pml "-DMUT_FIRST_MARK" "invalid end state"
refute mutant-wake-dozer-only wait.pml "-DMUT_WAKE_DOZER_ONLY -DIMPATIENT=0" "invalid end state"
refute mutant-no-hand-over wait.pml "-DMUT_NO_HAND_OVER" "invalid end state"
refute mutant-mark-after-look wait.pml "-DMUT_MARK_AFTER_LOOK" "invalid end state"
refute mutant-event-after-help wait.pml "-DMUT_EVENT_AFTER_HELP" "invalid end state"
refute mutant-sleep-unmarked wait.pml "-DMUT_SLEEP_UNMARKED" "invalid end state"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Files of plans and plots: inputs are never overwritten, and a plan and its plot appear together.

# keeps FILE WORDS COMMAND... - It is refused, and the file is as it was.
keeps()
{
	local file=$1 sum
	shift
	sum=$(sha256sum "$file")
	refused "$1" "is also an input" "${@:2}"
	holds "$1: $file is as it was" test "$(sha256sum "$file")" = "$sum"
}

make_trace
make_plans
mkdir -p there
cp chain.json own.json
cp chain.plan own.plan
ln -s own.json link.json
ln own.json hard.json
for name in own.json ./own.json there/../own.json hard.json; do
	keeps own.json "a plan over its trace, $name" "$annex" plan own.json "${machine[@]}" \
		-o $name --overwrite
done
keeps own.json "a plan over the trace behind a link" "$annex" plan link.json "${machine[@]}" \
	-o own.json --overwrite
keeps own.json "a plan over standard input" sh -c \
	"'$annex' plan - -o own.json --overwrite <own.json"

refused "plan and plot in one file of two names" "files of their own" "$annex" plan chain.json \
	"${machine[@]}" -o there/o.plan --plot there/./o.plan
cp chain.plan there/a
ln there/a there/b
refused "plan and plot in two links to one file" "files of their own" "$annex" plan chain.json \
	"${machine[@]}" -o there/a --plot there/b --overwrite
rm there/*
exec 8<there
flock 8
refused "plan and plot in a directory that is locked" "has had there locked for 5 s" \
	"$annex" plan chain.json "${machine[@]}" -o there/o.plan --plot there/p.svg
holds "neither of them is there" test -z "$(ls -A there)"
exec 8<&-
claim "plan and plot when it is unlocked" "$annex" plan chain.json "${machine[@]}" \
	-o there/o.plan --plot there/p.svg
rm -r there
refused "a plan without a name" "not the name of a file" "$annex" plan chain.json -o ""
refused "a plan with the name of a directory" "not the name of a file" "$annex" plan \
	chain.json -o there/
refused "a plan on a full disk" "/dev/full: .*No space left" "$annex" plan chain.json \
	"${machine[@]}" -o /dev/full

claim "a plan to standard output" "$annex" plan chain.json "${machine[@]}" -o -
holds "is the plan, and no more" cmp out chain.plan
holds "and no file is called so" test ! -e -
refused "a plan to standard output that is full" "standard output: .*No space left" sh -c \
	"'$annex' plan chain.json -o - >/dev/full"
refused "a report beside a plan" "--json" "$annex" plan chain.json -o - --json

if command -v gnuplot >/dev/null; then
	keeps own.json "a plot over its trace" "$annex" plan own.json "${machine[@]}" \
		--plot ./own.json --overwrite
	keeps own.json "a plot over a simulated trace" "$annex" simulate chain.json own.json \
		--policy g10 "${machine[@]}" --plot own.json --overwrite
	keeps own.plan "a plot over the plan that is run" "$annex" simulate chain.json --plan \
		own.plan "${machine[@]}" --plot ./own.plan --overwrite
	refused "a plot on a full disk" "/dev/full: No space" "$annex" plan chain.json \
		"${machine[@]}" --plot /dev/full
	refused "a simulation's plot on a full disk" "/dev/full: No space" "$annex" simulate \
		chain.json --policy g10 "${machine[@]}" --plot /dev/full
	refused "a plot without its plan" "No space" "$annex" plan chain.json "${machine[@]}" \
		--plot left.svg -o /dev/full
	make_broken
	refused "a plan without its plot" "gnuplot failed" env PATH="$dir/broken:$PATH" "$annex" \
		plan chain.json "${machine[@]}" --plot left.svg -o left.plan
	printf '#!/bin/sh\necho "<svg>"\n' >broken/gnuplot
	refused "a plot that is cut short" "cut short" env PATH="$dir/broken:$PATH" "$annex" \
		plan chain.json "${machine[@]}" --plot left.svg -o left.plan
	claim "plan and plot" "$annex" plan chain.json "${machine[@]}" --plot both.svg -o both.plan
	holds "the plot is whole" grep -q '</svg>' both.svg
	holds "and so is the plan" cmp both.plan chain.plan
	claim "plan and plot over them" "$annex" plan chain.json "${machine[@]}" --plot both.svg \
		-o both.plan --overwrite
	for command in "plan chain.json" "simulate chain.json --policy g10" \
		"simulate chain.json --policy g10,annex --sweep ssd=1.6,3.2"; do
		# shellcheck disable=SC2086 # words
		claim "a plot to standard output" "$annex" $command --plot -
		holds "begins as one" sh -c 'head -n 1 out | grep -q "^<?xml"'
		holds "ends as one" sh -c 'tail -n 2 out | grep -q "^</svg>"'
		# shellcheck disable=SC2086
		refused "a report beside it" "--json" "$annex" $command --plot - --json
	done
	claim "a plan to a file, its plot to standard output" "$annex" plan chain.json \
		"${machine[@]}" --plot - -o third.plan
	holds "the plan is in its file" cmp third.plan chain.plan
	refused "a plot of an infeasible plan, to standard output" "flashneuron" "$annex" simulate \
		heavy.json --policy flashneuron "${machine[@]}" --plot -
fi
refused "plan and plot to standard output" "only one" "$annex" plan chain.json -o - --plot -

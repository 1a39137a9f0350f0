# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Plans of training iterations: made, shown, simulated, drawn.

make_trace
claim "plan" "$annex" plan chain.json "${machine[@]}" -o chain.plan --json
holds "the ideal is the sum of its kernels" test "$(printf %.6f "$(number ideal_s)")" = 0.480000
predicted=$(number iteration_s)
below "the ideal is a bound" "$(number ideal_s)" "$predicted"
below "the bound is one" "$(number bound_s)" "$predicted"
below "a GPU is not more than full" "$(number gpu_peak_bytes)" $((1 << 30))
below "nor is the host" "$(number host_peak_bytes)" $((512 << 20))
steps=$(number steps)
claim "show the plan" "$annex" plan show chain.plan --trace chain.json --kernel 0..48 --json
value "all steps" steps "$steps"
holds "it fits its trace" test "$(fact checked)" = true
holds "all are listed" test "$(grep -c '"op"' out)" -eq "$steps"
claim "show from standard input" sh -c "'$annex' plan show - <chain.plan"
holds "the policy is told" grep -q "policy *annex" out
claim "show lists steps" "$annex" plan show chain.plan --kernel 0
claim "show how fast it runs" "$annex" plan show chain.plan --trace chain.json "${machine[@]}" \
	--json
value "as predicted" iteration_s "$predicted"
below "no faster than the bound" "$(number bound_s)" "$predicted"
holds "its biggest tensors" test "$(grep -c '"first_used_by"' out)" -eq 10
holds "and what moves when: all that comes" awk -F '[:,]' '
	/"in_bytes"/ { if (!all) all = $2; else sum += $2 }
	END { exit !(all > 0 && sum == all) }' out
claim "on a slow SSD" "$annex" plan show chain.plan --trace chain.json "${machine[@]}" \
	--ssd-read 20M --ssd-write 20M --json
below "it takes longer" "$predicted" "$(number iteration_s)"
refused "a machine without a trace" "--trace" "$annex" plan show chain.plan --ssds 2
claim "for people" "$annex" plan show chain.plan --trace chain.json
holds "with a table of tensors" grep "^ *tensor .*first used by$" out
holds "and one of times" grep "^ *start .*GPU memory" out
claim "simulate a plan" "$annex" simulate chain.json --plan chain.plan "${machine[@]}" --json
value "it takes as long as predicted" iteration_s "$predicted"
claim "plan over a plan when told to" "$annex" plan chain.json "${machine[@]}" -o chain.plan \
	--overwrite
claim "bound" "$annex" plan chain.json "${machine[@]}" --bound --json
below "it is below the plan's time" "$(number bound_s)" "$predicted"

# two_kernels NAME - A trace of two kernels; the second one needs 2 MiB.
two_kernels()
{
	cat <<-END
		{"format": "annex-trace/1",
		 "tensors": [{"id": 0, "bytes": 1, "global": true}, {"id": 1, "bytes": 2097152,
			"global": true}],
		 "kernels": [{"name": "a", "ns": 1, "in": [0], "out": []},
			{$1"ns": 1, "in": [1], "out": []}]}
	END
}
two_kernels "" >nameless.json
refused "a kernel that does not fit" "kernel 1 uses 2097152 bytes at once" \
	"$annex" plan nameless.json --gpu 1M
for pad in "" a; do
	two_kernels "\"name\": \"$pad$(printf 'é%.0s' {1..100})\", " >long.json
	refused "one with a long name" "kernel 1 \($pad(é)+\) uses" \
		"$annex" plan long.json --gpu 1M
	holds "which is cut between characters" iconv -f utf-8 -t utf-8 err
	claim "plan it" "$annex" plan long.json --gpu 2M -o long.plan --overwrite
	claim "show it" "$annex" plan show long.plan --trace long.json
	holds "here too" iconv -f utf-8 -t utf-8 out
done

# A plan that was taken over is told to be.
claim "the trace of a model" "$annex" trace gen llama-1b --batch 1 -o llama.json
small=(--gpu 20G --host 0 --ssd-read 1.6G --ssd-write 1.6G)
claim "plan it where g10 is ahead" "$annex" plan llama.json "${small[@]}" -o llama.plan --json
holds "it says whose plan it is" test "$(fact policy) of $(fact plan_of)" = '"annex" of "g10"'
claim "show its file" "$annex" plan show llama.plan
holds "which says so" grep -q "policy *annex+g10$" out
claim "simulate it" "$annex" simulate llama.json --plan llama.plan "${small[@]}"
holds "whose it is" grep -q "whose plan is *g10's$" out
claim "compare" "$annex" simulate llama.json --policy g10,annex "${small[@]}"
holds "in a line" grep -q "^annex, of g10 " out

# Several SSDs are one striped device.
for policy in annex g10 g10-gds deepum uvm; do
	claim "$policy on four SSDs" "$annex" simulate llama.json --policy $policy "${small[@]}" \
		--ssds 4 --json
	holds "each is written as much" awk -F '[:, ]+' '/"written_bytes"/ { n = $3
			if (!count++ || n < least) least = n
			if (n > most) most = n }
		END { exit !(count == 4 && least > 0 && most <= least * 1.1) }' out
done

# Kernels that run again. The plan is for the iteration in which they do.
slow=("${machine[@]}" --host 0 --ssd-read 100M --ssd-write 100M)
claim "a plan for slow storage" "$annex" plan chain.json "${slow[@]}" --json
moved=$(number iteration_s)
claim "recompute" "$annex" plan chain.json "${slow[@]}" --recompute --new-trace again.json \
	-o again.plan --json
again=$(number iteration_s)
below "it is no slower" "$again" "$moved"
below "nor below its bound" "$(number bound_s)" "$again"
value "kernels run again" repeated_kernels "$(grep -c ' again",' again.json)"
holds "at least one" test "$(number repeated_kernels)" -gt 0
claim "simulate it" "$annex" simulate again.json --plan again.plan "${slow[@]}" --json
value "it takes as long" iteration_s "$again"
claim "for people" "$annex" plan chain.json "${slow[@]}" --recompute
holds "with the time" grep -q "computed again .* kernels, in " out
claim "its bound" "$annex" plan chain.json "${slow[@]}" --recompute --bound --json
below "it is below" "$(number bound_s)" "$again"
refused "a plan without its trace" "--new-trace" "$annex" plan chain.json --recompute -o x.plan
refused "a new trace of nothing" "--recompute" "$annex" plan chain.json --new-trace x.json
refused "a trace over a trace" "again.json" "$annex" plan chain.json --recompute --new-trace \
	again.json
for other in -o --plot; do
	refused "a trace over $other" "need files of their own" "$annex" plan chain.json \
		--recompute --new-trace again.json -o again.plan $other ./again.json --overwrite
done

# A long name is cut between two characters, so that the report still has the reason.
sed "s/\"name\":\"/&a$(printf 'ü%.0s' {1..50})/" chain.json >names.json
claim "a network of long names" "$annex" simulate names.json --policy zero-offload --gpu 136M \
	--json
holds "why it cannot run" grep -q '"reason": "zero-offload: .*kernel [0-9]* (aü*), ' out

# Pages cost processor time, which the bound knows.
claim "pages for free" "$annex" simulate llama.json --policy annex "${small[@]}" --json
free=$(number iteration_s)
claim "pages of 20 us" "$annex" simulate llama.json --policy annex "${small[@]}" --page 20 \
	--json
holds "iterations take longer" awk "BEGIN { exit !($(number iteration_s) > $free * 1.1) }"
holds "no less than the bound" awk \
	"BEGIN { exit !($(number iteration_s) >= $(number bound_s) && $(number bound_s) > $free) }"
refused "pages of a minute" "--page: 60000000000 ns are more" "$annex" plan llama.json --page 60M

# Tensors of 64 TiB move in large chunks, so a simulation takes seconds.
awk -v n=15 'BEGIN {
	print "{\"format\": \"annex-trace/1\", \"tensors\": ["
	for (i = 0; i < n; i++)
		print (i ? "," : "") "{\"id\": " i ", \"bytes\": 70368744177664, \"global\": false}"
	print "], \"kernels\": ["
	for (i = 0; i < 2 * n - 1; i++)
		print (i ? "," : "") "{\"ns\": 1000, \"in\": [" (i < n ? i : 2 * n - 2 - i) "]}"
	print "]}" }' >huge.json
claim "tensors of 64 TiB" "$annex" simulate huge.json --policy uvm,g10,annex --gpu 200T

# Flash that a plan fills with what dies together copies nothing; more than there is does not fit.
claim "on little flash" "$annex" simulate llama.json --policy g10 "${small[@]}" --ssd-size 32G \
	--json
written=$(number out_ssd_bytes)
below "little is written again" "$(number ssd_write_amplification)" 1.1
holds "of bytes that are sent to it" test "$written" -gt 0
holds "each entry that changes is of a copied page" test "$(number ssd_updated_entries)" -le \
	"$(number ssd_copied_bytes)"
claim "on too little" "$annex" simulate llama.json --policy g10 "${small[@]}" --ssd-size 1G
holds "it cannot run" grep -q "keep more in ssd0 memory than there is" out
claim "on flash that nothing is sent to" "$annex" simulate chain.json --policy ideal --ssd-size 1G \
	--json
holds "no amplification" grep -q '"ssd_write_amplification": null' out
refused "more than both ways" "--ssd-duplex: 3 is not" "$annex" plan llama.json --ssd-duplex 3
refused "spare flash alone" "--ssd-spare: it is beyond a --ssd-size" "$annex" plan llama.json \
	--ssd-spare 1G

# Help and manual know the policies that the library has.
claim "all policies" "$annex" simulate chain.json --policy all "${machine[@]}" --json
all=$(sed -n 's/.*"policy": "\(.*\)".*/\1/p' out)
for command in plan simulate; do
	listed=$("$annex" $command --help |
		sed -n '/^POLICY is one of:/,/^$/s/^  \([^ ]*\) .*/\1/p')
	[ $command = plan ] || listed=${listed%$'\n'all}
	holds "the help of $command lists them" test "$listed" = "$all"
done
# Both keep activations on the GPU, which is too small for these.
for policy in zero-offload zero-infinity; do
	claim "simulate $policy" "$annex" simulate chain.json --policy $policy "${machine[@]}" \
		--json
	holds "the reason names it and the kernel" grep -qE "\"reason\": \"$policy: .*kernel" out
done
for policy in $(grep -vE '^(flashneuron|zero-.*)$' <<<"$all"); do
	claim "simulate $policy" "$annex" simulate chain.json --policy "$policy" "${machine[@]}" \
		--json
	holds "it is feasible" test "$(fact feasible)" = true
	holds "it is named" test "$(fact policy)" = "\"$policy\""
	[ "$policy" = ideal ] ||
		below "bound of $policy" "$(number bound_s)" "$(number iteration_s)"
	[ "$policy" != g10 ] || g10=$(number iteration_s)
	first=$(number iteration_s)
	claim "once more" "$annex" simulate chain.json --policy "$policy" "${machine[@]}" --json
	value "the same comes out" iteration_s "$first"
done
below "ours is not slower than G10" "$predicted" "$g10"
claim "all policies" "$annex" simulate chain.json --policy all "${machine[@]}"
holds "in a line each" test "$(wc -l <out)" -eq $(($(wc -w <<<"$all") + 1))
claim "an iteration that fits needs nothing" "$annex" simulate chain.json --policy annex --json
below "it is ideal, but for its first allocation" 0.999 "$(number share_of_ideal)"
value "and nothing is written" out_ssd_bytes 0
holds "so the SSD lasts" test "$(fact ssd_lifetime_years)" = null
claim "noise" "$annex" simulate chain.json --policy annex "${machine[@]}" --noise 0.2 \
	--iterations 4 --seed 7 --json
value "as many iterations as told" iterations 4
first=$(number iteration_s)
holds "no bound, which is of the times without it" test "$(fact bound_s)" = null
claim "noise in percent" "$annex" simulate chain.json --policy annex "${machine[@]}" --noise 20% \
	--iterations 4 --seed 7 --json
value "is the same" iteration_s "$first"
claim "another seed" "$annex" simulate chain.json --policy annex "${machine[@]}" --noise 0.2 \
	--iterations 4 --seed 8 --json
holds "is another time" test "$(number iteration_s)" != "$first"
claim "CXL memory" "$annex" simulate chain.json --policy annex --gpu 1G --host 0 --cxl 4G \
	--cxl-rate 12G --json
below "it is not more than full" "$(number cxl_peak_bytes)" $((4 << 30))

claim "two GPUs" "$annex" simulate chain.json second.json --policy annex "${machine[@]}" --json
value "are two" gpus 2
claim "one trace on three GPUs" "$annex" simulate chain.json --gpus 3 --ssds 2 --policy g10 \
	"${machine[@]}" --json
value "are three" gpus 3
holds "each SSD is told of" test "$(grep -c '"ssd": "ssd' out)" -eq 2

# The weights alone exceed the GPU: FlashNeuron, which keeps them there, cannot run.
claim "a policy that cannot" "$annex" simulate heavy.json --policy flashneuron "${machine[@]}" \
	--json
holds "is not feasible" test "$(fact feasible)" = false
holds "takes no time" test "$(fact iteration_s)" = null
holds "and has a reason" test -n "$(fact reason)"
claim "another can" "$annex" simulate heavy.json --policy annex "${machine[@]}" --json
holds "and is feasible" test "$(fact feasible)" = true
refused "a plan that cannot be" "flashneuron" "$annex" plan heavy.json --policy flashneuron \
	"${machine[@]}" -o bad.plan

claim "sweep" "$annex" simulate chain.json --policy g10,annex --gpu 1G \
	--sweep ssd=1.6,3.2 host=0,0.5,16 --json
holds "every combination" test "$(grep -c '"iteration_s"' out)" -eq 12
holds "with its values" test "$(grep -c '"host": 0.5' out)" -eq 4
claim "sweep in one word" "$annex" simulate chain.json --policy annex --gpu 1G \
	--sweep 'ssd=1.6G host=512M'
holds "is a table" test "$(wc -l <out)" -eq 2
claim "sweep over policies" "$annex" simulate chain.json --sweep policy=uvm,g10 gpu=0.01,1 --json
holds "a machine that is too small is not feasible" test "$(grep -c '"feasible": false' out)" -eq 2
holds "it is told why" grep -q '"reason": ".*kernel 0 (forward0)' out

if command -v gnuplot >/dev/null; then
	claim "plot of a plan" "$annex" plan chain.json "${machine[@]}" --plot plan.svg
	claim "plot of a simulation" "$annex" simulate chain.json "${machine[@]}" --policy uvm \
		--plot uvm.svg
	claim "plot of a sweep" "$annex" simulate chain.json --policy g10,annex --gpu 1G \
		--sweep ssd=1.6,3.2 host=0,16 --plot sweep.svg
	for file in plan uvm sweep; do
		holds "$file.svg begins" grep -q '<svg' $file.svg
		holds "$file.svg ends" grep -q '</svg>' $file.svg
	done
	holds "the capacity is drawn" grep -q capacity plan.svg
	# colours WORDS - The colours of the labels that begin so, each once.
	colours()
	{
		awk -v words=">$1" 'match($0, /fill="rgb[^"]*"/) {
				fill = substr($0, RSTART, RLENGTH)
			}
			index($0, words) { print fill }' sweep.svg | sort -u
	}
	holds "and lines are named" grep -q 'annex, host 16' sweep.svg
	holds "a policy has one colour" test "$(colours annex | wc -l)$(colours g10 | wc -l)" = 11
	holds "and another has another" test "$(colours annex)" != "$(colours g10)"
	refused "plot over a plot" "overwrite" "$annex" plan chain.json --plot plan.svg
	make_broken
	refused "gnuplot that fails" "gnuplot failed: no terminal" env PATH="$dir/broken:$PATH" \
		"$annex" plan chain.json --plot bad.svg
fi
refused "no gnuplot" "gnuplot-nox" env PATH="$dir/kinds" "$annex" plan chain.json --plot bad.svg

refused "no trace" "no trace: name" "$annex" plan
refused "two traces" "too many" "$annex" plan chain.json second.json
refused "no policy" "--policy" "$annex" simulate chain.json
refused "unknown policy" "foo" "$annex" plan chain.json --policy foo
refused "one unknown policy" "foo.*g10-gds" "$annex" simulate chain.json --policy g10,foo
refused "one policy twice" "twice" "$annex" simulate chain.json --policy g10,g10
refused "plan and policy" "--plan excludes" \
	"$annex" simulate chain.json --policy g10 --plan chain.plan
refused "missing trace" "nowhere" "$annex" plan nowhere.json -o bad.plan
refused "missing plan" "nowhere" "$annex" simulate chain.json --plan nowhere.plan
head -c 3000 chain.json >bad.json
refused "truncated trace" "bad.json" "$annex" plan bad.json -o bad.plan
refused "kernel beyond the GPU" "kernel 0 .forward0. uses" "$annex" plan chain.json --gpu 64M
refused "kernel beyond the GPU, by a policy" "kernel 0 .forward0. uses" "$annex" simulate \
	chain.json --policy g10 --gpu 64M
for rate in pcie host-link cxl-rate ssd-read ssd-write alloc; do
	for value in 0 -1 nan inf 1e400 0x10 3.2Q; do
		refused "$rate of $value" "--$rate" "$annex" plan chain.json --$rate=$value
	done
done
for size in gpu host cxl ssd-size ssd-spare; do
	for value in -1 nan lots 99999999999999999999 16777216T 1G1; do
		refused "$size of $value" "--$size" "$annex" plan chain.json --$size=$value
	done
done
refused "no GPU memory" "--gpu" "$annex" plan chain.json --gpu 0
refused "CXL memory without a rate" "--cxl-rate" "$annex" plan chain.json --cxl 4G
refused "half a GPU" "--gpus" "$annex" plan chain.json --gpus 1.5
refused "no GPUs" "--gpus" "$annex" plan chain.json --gpus 0
refused "more GPUs than traces" "3 GPUs" "$annex" simulate chain.json second.json --policy g10 \
	--gpus 3
for noise in 1 20 100% -0.1 nan 0.2x %; do
	refused "noise of $noise" "--noise $noise: .*0.2.*20%" "$annex" simulate chain.json \
		--policy g10 --noise=$noise
done
refused "sweep over nothing" "KEY=VALUE" "$annex" simulate chain.json --policy g10 --sweep ssd
refused "sweep over an unknown option" "colour" "$annex" simulate chain.json --policy g10 \
	--sweep colour=1
refused "sweep over no rate" "ssd 0" "$annex" simulate chain.json --policy g10 --sweep ssd=0,1
refused "sweep twice" "twice" "$annex" simulate chain.json --policy g10 --sweep ssd=1 ssd=2
refused "plot of several policies" "--plot" "$annex" simulate chain.json --policy all --plot bad.svg
claim "a plan to /dev/null" "$annex" plan chain.json -o /dev/null
mkfifo pipe.plan
cat pipe.plan >piped.plan &
claim "a plan into a pipe" "$annex" plan chain.json -o pipe.plan
wait $!
claim "the plan from the pipe" "$annex" plan show piped.plan
refused "plan over a plan" "overwrite" "$annex" plan chain.json -o chain.plan
refused "plan in no directory" "nowhere" "$annex" plan chain.json -o nowhere/bad.plan
refused "plan and plot in one file" "files of their own" \
	"$annex" plan chain.json -o bad.svg --plot bad.svg
refused "a plan for another trace" "chain.plan.*another trace|chain.plan.*kernels" "$annex" plan \
	show chain.plan --trace second.json
head -c 2000 chain.plan >bad.plan
refused "truncated plan" "step" "$annex" plan show bad.plan
sed '0,/"op":"alloc"/s//"op":"move"/' chain.plan >bad.plan
refused "unknown operation" 'step [0-9]+: "op"' "$annex" plan show bad.plan
sed '0,/"op":"free".*[0-9]}/s//"op":"free","tensor":0,"bytes":8388608}/' chain.plan >bad.plan
refused "a plan that frees a weight" "step.*kernel.*tensor 0: free of a global" "$annex" simulate \
	chain.json --plan bad.plan "${machine[@]}"
refused "kernels backwards" "--kernel" "$annex" plan show chain.plan --kernel 5..3

# shows WORD ARGUMENT... - On a terminal, annex tells by WORD how long it has gone on. It is ended.
shows()
{
	local line told=1
	while [ $told -eq 1 ] && read -r -d $'\r' line; do
		[[ $line =~ \ $1:\ [0-9]+\ s$ ]] && kill $! && told=0
	done < <(exec script -qefc "'$annex' ${*:2}" /dev/null </dev/null 2>&1)
	wait $!
	return $told
}
if command -v script >/dev/null; then
	"$annex" trace gen synthetic --kernels 40000 -o slow.json >/dev/null
	holds "progress of a plan" shows planning plan slow.json --gpu 40G
	holds "progress of a bound" shows planning plan slow.json --gpu 40G --bound
	holds "progress of a simulation" shows simulating simulate slow.json --gpu 40G \
		--policy annex
	claim "a bound in JSON" script -qefc \
		"'$annex' plan slow.json --gpu 40G --bound --json" /dev/null
	holds "none in JSON" test "$(head -c 1 out)" = "{"
	rm slow.json
fi

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Reports of plans and simulations: each of several GPUs, unknown values, and every name.

# iterations - The times of the last claim's JSON: of the whole, and of each GPU.
iterations()
{
	sed -n 's/^ *"iteration_s": \([^,]*\),$/\1/p' out
}

make_trace
make_plans
make_small
"$annex" trace gen bert-base -o bert.json >out
claim "two GPUs that differ" "$annex" simulate chain.json second.json --policy annex \
	"${machine[@]}" --json
holds "each is told of" test "$(grep -c '"trace"' out)" -eq 2
holds "by its trace" grep -q '"trace": "second.json"' out
holds "three times are told" test "$(iterations | wc -l)" -eq 3
holds "the whole takes as long as the slowest" test "$(iterations | head -n 1)" = \
	"$(iterations | tail -n 2 | sort -g | tail -n 1)"
holds "and the other is faster" test "$(iterations | sort -u | wc -l)" -eq 2
claim "two GPUs in words" "$annex" simulate chain.json second.json --policy annex "${machine[@]}"
holds "a row each" test "$(grep -c '\.json$' out)" -eq 2
claim "one GPU" "$annex" simulate chain.json --policy annex "${machine[@]}" --json
holds "is not told twice" sh -c '! grep -q per_gpu out'
claim "two GPUs in a sweep" "$annex" simulate chain.json second.json --policy g10 "${machine[@]}" \
	--sweep ssds=1,2 --json
holds "are told of in each run" test "$(grep -c '"per_gpu"' out)" -eq 2
refused "fewer GPUs than traces" "2 traces on 1 GPU" "$annex" simulate chain.json second.json \
	--policy g10 --gpus 1

claim "a GPU without limit" "$annex" simulate chain.json --policy ideal "${machine[@]}" --json
holds "is told to be one" test "$(fact unlimited)" = true
claim "another policy" "$annex" simulate chain.json --policy g10 "${machine[@]}" --json
holds "has a limit" test "$(fact unlimited)" = false
claim "a GPU without limit, in words" "$annex" simulate chain.json --policy ideal "${machine[@]}"
holds "is told to be one" grep -q 'unlimited:' out
claim "the plan for it" "$annex" plan chain.json --policy ideal "${machine[@]}" -o ideal.plan
refused "which does not run on a GPU with one" "ideal.plan.*--policy ideal" "$annex" simulate \
	chain.json --plan ideal.plan "${machine[@]}"

# Of 1.6 GiB at once, 1 GiB fits.
nowhere=(--gpu 1G --host 0 --ssds 0)
refused "a bound where nothing runs" "no plan can run chain.json" "$annex" plan chain.json \
	"${nowhere[@]}" --bound
claim "a simulation where nothing runs" "$annex" simulate chain.json --policy annex "${nowhere[@]}"
holds "says so" grep -q 'no plan can run this' out
claim "a sweep over machines where nothing runs" "$annex" simulate chain.json --policy annex \
	--sweep gpu=0.01,1 host=0 ssds=0 --json
holds "has no bounds" test "$(grep -c '"bound_s": null' out)" -eq 2
claim "a sweep over a GPU that is too small for a kernel" "$annex" simulate chain.json \
	--policy annex --sweep gpu=0.01,1 --json
holds "has no bound there" test "$(grep -c '"bound_s": null' out)" -eq 1
claim "small sizes" "$annex" simulate chain.json --policy g10,annex --gpu 1590M --host 64M
holds "have small units" sh -c '! grep -q " 0\.0 GiB" out && grep -q "[KM]iB" out'

refused "an option and a sweep" "--sweep ssd: an option" "$annex" simulate chain.json --policy g10 \
	--sweep ssd=1.6,3.2 --ssd-read 3G
refused "two sweeps of one number" "ssd sets that" "$annex" simulate chain.json --policy g10 \
	--sweep ssd=1.6,3.2 ssd-write=1
claim "a sweep of times" "$annex" simulate chain.json --policy g10 --sweep fault=1,45 --json
holds "in microseconds" grep -q '"fault": 45.0' out
refused "kernels behind the last" "--kernel 99999..100000: .* 0 to 47, and 48" "$annex" plan show \
	chain.plan --kernel 99999..100000
refused "a kernel behind the last" "--kernel 49: " "$annex" plan show chain.plan --kernel 49
claim "the end" "$annex" plan show chain.plan --kernel 48

refused "a trace as a plan" "chain.json: this is a trace, not a plan" "$annex" plan show chain.json
refused "a trace as the plan to run" "is a trace, not a plan" "$annex" simulate chain.json --plan \
	chain.json
refused "a plan as a trace to plan" "chain.plan is a plan, not a trace" "$annex" plan chain.plan
refused "a plan as a trace to run" "chain.plan is a plan, not a trace" "$annex" simulate \
	chain.plan --policy g10
refused "a plan as the trace of a plan" "chain.plan is a plan, not" "$annex" plan show chain.plan \
	--trace chain.plan
for spoil in 's/annex-plan/annex-map/' 's/"kernels":/"kernels":-/' 's/"host":/"colour":/' \
	's/"lazy":/"lazy":1,"x":/' 's/"trace":"/"trace":"x/' \
	's/"policy":"/&more than thirty-one characters /'; do
	sed "$spoil" chain.plan >bad.plan
	refused "a plan after $spoil" 'bad.plan: ("[a-z]*" is no|unknown key "colour")' \
		"$annex" plan show bad.plan
done
rm -f bad.plan

# names WORDS - Every member of the last claim's JSON is in the document, in code quotes.
names()
{
	local name
	while read -r name; do
		holds "$1: docs/json.md has no \`$name\`" grep -qF "\`$name\`" \
			"$here/../../docs/json.md"
	done < <(sed -n 's/^ *"\([^"]*\)":.*/\1/p' out | sort -u)
}
claim "all of a plan" "$annex" plan chain.json "${machine[@]}" --cxl 1G --cxl-rate 20G --json
names plan
claim "a bound" "$annex" plan chain.json "${machine[@]}" --bound --json
names bound
claim "a plan that is shown" "$annex" plan show chain.plan --trace chain.json --kernel 0..48 --json
names "plan show"
claim "GPUs" "$annex" simulate chain.json second.json --policy annex --cxl 4G --cxl-rate 20G \
	--gpu 1G --host 0 --json
holds "that use CXL memory" grep -q in_cxl_bytes out
names simulate
claim "an infeasible plan" "$annex" simulate heavy.json --policy flashneuron "${machine[@]}" --json
names infeasible
claim "a sweep" "$annex" simulate chain.json --policy g10 --sweep ssd=1.6,3.2 host=1 --json
names sweep
claim "a trace" "$annex" trace show bert.json --json
names "trace show"
claim "a small trace" "$annex" trace show small.json --json
names "trace show"
claim "a new trace" "$annex" trace gen bert-base --batch 4 -o bert4.json --json
names "trace gen"

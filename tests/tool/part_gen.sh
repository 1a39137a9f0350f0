# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Traces made from the arithmetic of models.

claim "trace gen has help" "$annex" trace gen --help
holds "the help of trace gen has an example" grep -q "annex trace gen" out
holds "the help of trace gen lists models and GPUs" grep -qE "llama-7b.*4 x 2048" out

claim "bert-base" "$annex" trace gen bert-base -o bert.json --json
value "parameters" parameters 109514298
claim "its output is a trace" "$annex" trace show bert.json
claim "once more" "$annex" trace gen bert-base -o bert2.json
holds "a trace does not depend on chance" cmp bert.json bert2.json
claim "to standard output" "$annex" trace gen bert-base
holds "it is the same trace" cmp bert.json out
claim "to standard output by name" "$annex" trace gen bert-base -o -
holds "it is the same trace" cmp bert.json out
claim "over a trace when told to" "$annex" trace gen gpt2 --batch 1 -o bert2.json --overwrite
for model in bert-large vit-b16 gpt2-xl gpt3-13b llama-1b llama-7b resnet50 resnet152; do
	claim "$model" "$annex" trace gen $model --batch 2 -o $model.json --json
	kernels=$(number kernels)
	claim "$model is a trace" "$annex" trace show $model.json --json
	value "$model keeps its kernels" kernels "$kernels"
done
claim "every option" "$annex" trace gen llama-7b --batch 1 --seq 512 --layers 2 --hidden 1024 \
	--gpu h100 --dtype fp16 --optimizer momentum -o odd.json
claim "batches layer by layer, and a step of the host" "$annex" trace gen llama-8b \
	--batch 1 --layers 2 --accumulate 3 --vertical --host-step 1e9 --gpu h100-nvl -o host.json
holds "the last kernel is the host's" grep -q '"Adam_HostStep","ns":[0-9]*,"in":\[\]' host.json
claim "a step's rate with a letter" "$annex" trace gen llama-8b \
	--batch 1 --layers 2 --accumulate 3 --vertical --host-step 1G --gpu h100-nvl -o letter.json
holds "G is 10^9" cmp host.json letter.json
for policy in zero-offload zero-infinity; do
	claim "$policy" "$annex" simulate host.json --policy $policy --gpu 80G --json
	holds "$policy moves gradients to the host" grep -qE '"out_host_bytes": [1-9]' out
done
claim "another image" "$annex" trace gen vit-b16 --batch 8 --image 384 --dtype tf32 -o vit384.json
claim "synthetic" "$annex" trace gen synthetic --kernels 20000 --peak 50G -o syn.json --json
value "as many kernels as asked for" kernels 20000
claim "synthetic is a trace" "$annex" trace show syn.json
claim "another seed" "$annex" trace gen synthetic --kernels 20000 --peak 50G --seed 1 -o syn1.json
holds "another seed makes another trace" test ! "$(cmp syn.json syn1.json)" = ""

refused "gen without a model" "no model: see" "$annex" trace gen -o x.json
refused "unknown model" "bert-base.*synthetic" "$annex" trace gen gpt5 -o x.json
refused "two models" "too many" "$annex" trace gen gpt2 bert-base
refused "unknown GPU" "a100-40" "$annex" trace gen gpt2 --gpu abacus -o x.json
refused "a GPU without bf16" "bf16" "$annex" trace gen gpt2 --gpu t4 --dtype bf16 -o x.json
refused "unknown dtype" "fp32, tf32" "$annex" trace gen gpt2 --dtype fp7 -o x.json
refused "unknown optimizer" "sgd, momentum" "$annex" trace gen gpt2 --optimizer luck -o x.json
refused "batch of 0" "--batch 0" "$annex" trace gen gpt2 --batch 0 -o x.json
refused "batch of 2^40" "larger" "$annex" trace gen gpt2 --batch 1T -o x.json
refused "width without heads" "heads" "$annex" trace gen gpt2 --hidden 1000 -o x.json
refused "width of 2^40" "larger" "$annex" trace gen gpt2 --hidden 12T -o x.json
refused "layers without end" "layers" "$annex" trace gen gpt2 --layers 1T -o x.json
refused "sequences of images" "no sequences" "$annex" trace gen resnet50 --seq 9 -o x.json
refused "an image of text" "no images" "$annex" trace gen gpt2 --image 224 -o x.json
refused "a step of no rate" "--host-step" "$annex" trace gen gpt2 --host-step 0 -o x.json
refused "a step too fast" "--host-step 2000000T.*1e\+18" "$annex" trace gen gpt2 \
	--host-step 2000000T -o x.json
refused "too many kernels" "1000000" "$annex" trace gen synthetic --kernels 2M -o x.json
refused "a seed of BERT" "no seed" "$annex" trace gen bert-base --seed 3 -o x.json
refused "gen over a trace" "already exists.*--overwrite" "$annex" trace gen gpt2 -o bert.json
refused "a report without a file" "-o FILE" "$annex" trace gen gpt2 --json
refused "gen in no directory" "nowhere" "$annex" trace gen gpt2 -o nowhere/x.json
refused "a trace without a name" "not the name of a file" "$annex" trace gen gpt2 -o ""
refused "a trace on a full disk" "/dev/full: No space" "$annex" trace gen gpt2 -o /dev/full
refused "a trace to standard output that is full" "standard output: No space" sh -c \
	"'$annex' trace gen gpt2 >/dev/full"

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# tools/python/annex_g10.py converts files that the program of the G10 artifact writes.
g10=$here/../../tools/python/annex_g10.py

# artifact TENSOR... - Three kernels in the folder net: a weight, an activation, and a workspace.
tensor0="tensor0 Is weight (global)?: 0, Size in byte: 8192, Range:0--8192"
tensor2="tensor2 Is weight (global)?: 1, Size in byte: 4096, Range:0--4096"
tensor7="tensor7 Is weight (global)?: 0, Size in byte: 12288, Range:8192--20480"
artifact()
{
	mkdir -p net
	printf '%s\n' "$tensor0" "$tensor2" "$tensor7" >net/tensors.config
	cat >net/kernels.config <<-END
		Kernel ID: 0, Name: Conv2d_Forward
		Parent Layer ID:3; Name:Conv2d
		Execution Time: 237158
		(512,32,149,149)
		Input Tensors:
		$tensor2
		Output Tensors:
		$tensor7
		____________________________________________________________________
		Kernel ID: 1, Name: makeLoss
		Parent OP ID:184; Name: Loss
		Execution Time: 12
		Input Tensors:
		$tensor0
		Output Tensors:
		____________________________________________________________________
		Kernel ID: 2, Name: Apply_Grad
		Parent OP ID:185; Name: Grad
		Execution Time: 1200000
		Input Tensors:
		$tensor0
		$tensor2
		Output Tensors:
		$tensor2
		____________________________________________________________________
	END
	printf '%s\n' "0000 73.269249 ms" "0001 0.000001 ms" "0002 1.500000 ms" >faults.txt
}

artifact
claim "a trace of the artifact's files" "$g10" net -o net.json --model Net --batch 512
holds "tensors are numbered in their order" grep -q '{"id":2,"bytes":12288,"global":false}' net.json
holds "cycles of 1.2 GHz are nanoseconds" grep -qF \
	'{"name":"Conv2d_Forward","ns":197632,"in":[1],"out":[2]}' net.json
claim "trace show of it" "$annex" trace show net.json --json
value "its kernels" kernels 3
value "its global bytes" global_bytes 4096
value "its batch" batch 512
hash=$(grep '"hash"' out)
claim "with times with page faults" "$g10" net -o faults.json --faults faults.txt
holds "they are in the trace" grep -qF '"ns":197632,"in":[1],"out":[2],"fault_ns":73269249}' \
	faults.json
holds "none is less than the kernel's own" grep -qF '"ns":10,"in":[0],"out":[],"fault_ns":10}' \
	faults.json
claim "trace show of these" "$annex" trace show faults.json --json
holds "the trace is the same" test "$(grep '"hash"' out)" = "$hash"
claim "another clock" "$g10" net -o fast.json --ghz 2.4
holds "its kernels are faster" grep -q '"ns":98816,' fast.json

took=()
for trace in net faults; do
	claim "uvm, $trace" "$annex" simulate $trace.json --policy uvm --gpu 20K --fault-size 4K \
		--json
	took+=("$(number iteration_s)")
done
holds "measured faults are slower than computed ones" awk -v a="${took[0]}" -v b="${took[1]}" \
	'BEGIN { exit !(a > 0 && b > a) }'

# broken WORDS PATTERN FILE SED-SCRIPT - The files with a mistake in one.
broken()
{
	artifact
	sed -i "$4" "$3"
	refused "$1" "^annex_g10: $2" "$g10" net -o bad.json --faults faults.txt
}
t=net/tensors.config k=net/kernels.config

# A trace that the tool would refuse is not written.
header=$here/../../include/annex/trace.h
for most in TENSORS KERNELS USES; do
	bits=$(sed -n "s/^MOST_$most = 1 << //p" "$g10")
	holds "a trace has as many $most" \
		grep -q "^#define ANNEX_TRACE_MAX_$most (1u << $bits)$" "$header"
	sed "s/^MOST_$most = .*/MOST_$most = 2/" "$g10" >few.py
	refused "more $most" "^annex_g10: net/.*: .*more than 2 (tensors|kernels)$" \
		python3 few.py net -o few.json
done

broken "no tensor" "$t: line 2: no tensor" $t '2s/.*/tensor2/'
broken "a tensor of 0 bytes" "$t: line 1: tensor0 has 0" $t '1s/8192,/0,/'
broken "a number that is too long" "$t: line 1: no tensor" $t '1s/8192,/81928192819281928192,/'
broken "the same tensor twice" "$t: line 3: tensor2 appears twice" $t '3s/tensor7/tensor2/'
broken "a tensor of kernels only" "$k: line 8: tensor7 is not in" $t 3d
broken "another size" "$k: line 6: tensor2 is another" $k '6s/4096,/8192,/'
broken "a kernel that is missing" "$k: line 10: kernel 1 should follow" $k '10s/1/2/'
broken "a kernel without a time" "$k: kernel 1 \(makeLoss\) has no time" $k 12d
broken "a tensor of no list" "$k: line 5: neither" $k 5d
broken "bytes of another kind" "$k: line 3: neither" $k '3s/.*/\xff\x00/'
broken "a kernel with two times" "$k: line 4: kernel 0 has a time already" $k \
	'3a Execution Time: 7'
broken "a tensor that is larger than a trace" "$t: line 3: .* more than 1125899906842624 bytes" \
	$t '3s/12288,/1125899906842624,/'
broken "times that are longer than a trace" "$k: line 12: .* more than 9007199254740992 ns" \
	$k '12s/12$/9999999999999999/;3s/237158/9999999999999999/'
broken "no kernels" "$k: no kernels" $k d
broken "a time of another kernel" "faults.txt: line 2: no time of kernel 1" faults.txt 2d
broken "a time with another unit" "faults.txt: line 3: no time" faults.txt '3s/ms/s/'
broken "a time too few" "faults.txt: no time of kernel 2" faults.txt 3d
broken "no time" "faults.txt: no time of kernel 0" faults.txt d
broken "a time too many" "faults.txt: line 4: there are 3" faults.txt '3a 0003 1.0 ms'
artifact
refused "a folder without files" "No such file" "$g10" . -o bad.json
refused "a file that cannot be made" "cannot write nowhere/bad.json: No such file" \
	"$g10" net -o nowhere/bad.json
refused "a full disk" "cannot write /dev/full: No space" "$g10" net -o /dev/full
refused "a model's name that is not UTF-8" "^annex_g10: --model: .* not UTF-8" \
	"$g10" net -o bad.json --model $'\xff'
cp net/tensors.config before.config
refused "over one of its inputs" "net/tensors.config already exists.*--overwrite" \
	"$g10" net -o net/tensors.config
holds "which stays" cmp net/tensors.config before.config
claim "over a trace when told to" "$g10" net -o fast.json --overwrite
holds "it is the new one" grep -q '"ns":197632,' fast.json
claim "to standard output" sh -c "'$g10' net -o /dev/stdout | cmp - fast.json"

# bad_usage WORDS PATTERN OPTION... - An option that the program does not take.
bad_usage()
{
	local words=$1 pattern=$2
	shift 2
	(ulimit -v 1000000; timeout 20 "$g10" net -o bad.json "$@") >out 2>err
	holds "$words" grep -q "^annex_g10: error: argument $pattern" err
}
bad_usage "no batch" "--batch: .*'0'" --batch 0
bad_usage "a batch that is no number" "--batch: .*'many'" --batch many
bad_usage "a batch of more than a trace can have" "--batch: .*'9223372036854775808'" \
	--batch 9223372036854775808

# Files as the artifact writes them, made of a real trace, give that trace again. The artifact
# rounds cycles down, so a time from its own files may be a nanosecond less.
shared=$here/../../../shared/traces
if [ -r "$shared/bert-256.json" ]; then
	mkdir real
	python3 - "$shared/bert-256.json" >real/log <<-'END'
		import json, sys
		trace = json.load(open(sys.argv[1]))
		lines = [f"tensor{t['id']} Is weight (global)?: {int(t['global'])}, "
		         f"Size in byte: {t['bytes']}, Range:0--1" for t in trace["tensors"]]
		open("real/tensors.config", "w").write("\n".join(lines) + "\n")
		with open("real/kernels.config", "w") as file:
		    for k, kernel in enumerate(trace["kernels"]):
		        uses = [[lines[i] for i in kernel[key]] for key in ("in", "out")]
		        print(f"Kernel ID: {k}, Name: {kernel['name']}",
		              f"Execution Time: {round(kernel['ns'] * 1.2)}",
		              "Input Tensors:", *uses[0], "Output Tensors:", *uses[1], "____",
		              sep="\n", file=file)
	END
	claim "a real network" "$g10" real -o real.json
	claim "trace show of a real network" "$annex" trace show "$shared/bert-256.json" --json
	hash=$(grep '"hash"' out)
	claim "trace show of its conversion" "$annex" trace show real.json --json
	holds "they are the same" test "$(grep '"hash"' out)" = "$hash"
fi

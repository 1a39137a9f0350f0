# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Traces: what an iteration does to memory.

claim "trace show has help" "$annex" trace show --help
holds "the help of trace show has an example" grep -q "annex trace show" out

make_small
claim "trace show" "$annex" trace show small.json
holds "the peak is named" grep -qE '^  peak  +3\.0 KiB at 1\.000 s, kernel 1: back' out
holds "a kernel's name does not reach the terminal as it is" test -z "$(tr -d -c '\033' <out)"
claim "trace show --json" "$annex" trace show small.json --json
value "kernels are counted" kernels 2
value "tensors are counted" tensors 4
value "global tensors are counted" global_tensors 2
value "their bytes" global_bytes 1025
value "bytes of all" footprint_bytes 3072
value "times are added" ideal_s 4.0
value "periods: of the tensor that no kernel uses" periods 1
value "which lasts an iteration" period_max_s 4.0
value "and is long enough for the SSD" hidden_share 1.0
value "a kernel uses almost all of the peak" active_of_peak_max 0.99967447916666663
holds "the peak" sh -c 'tr -d " \n" <out | grep -q "\"peak\":{\"bytes\":3072,\"kernel\":1,"'
holds "weights" sh -c 'tr -d " \n" <out | grep -q "\"weight\":{\"tensors\":2,\"bytes\":1025}"'
cp out show.json
claim "trace show from stdin" sh -c "cat small.json | '$annex' trace show - --json"
holds "shows the same" cmp out show.json

# What the paper says of its traces (G10 figure 3), where they are.
shared=$here/../../../shared/traces
if [ -r "$shared/bert-256.json" ]; then
	claim "trace show of a real trace" "$annex" trace show "$shared/bert-256.json" --json
	value "its kernels" kernels 1369
	holds "half of the periods are longer than 0.1 s" \
		awk "BEGIN { exit !($(number period_p50_s) > 0.1) }"
	holds "6 to 8 of 10 hide a swap" \
		awk "BEGIN { s = $(number hidden_share); exit !(s > 0.6 && s < 0.8) }"
fi

refused "no trace" "no trace: name" "$annex" trace show
refused "two traces" "too many" "$annex" trace show small.json small.json
refused "trace that is not there" "nowhere.json: No such file" "$annex" trace show nowhere.json
refused "directory as a trace" "directory" "$annex" trace show .
head -c 400 small.json >bad.json
refused "truncated trace" "bad.json: line 10, column 43" "$annex" trace show bad.json
echo '{"format":"annex-plan/1","steps":[]}' >bad.json
refused "a plan as a trace" "bad.json is a plan, not a trace" "$annex" trace show bad.json
refused "a plan as a trace, from stdin" "no trace" sh -c "'$annex' trace show - <bad.json"

# bad_trace WORDS PATTERN SED-SCRIPT - The small trace with a mistake in it.
bad_trace()
{
	sed "$3" small.json >bad.json
	refused "$1" "$2" "$annex" trace show bad.json
}
bad_trace "id out of range" 'kernel 0 \(forward\): tensor 4711 does not exist \(there are 4\)' \
	's/"out":\[1\]/"out":[4711]/'
bad_trace "tensor used before birth" \
	'tensor 1: used by kernel 0 \(forward\) before its birth at kernel 1' \
	's/"role":"activation"/"birth":1/'
bad_trace "death before birth" 'tensor 2: dies at kernel 0 before it is born at kernel 1' \
	's/"id":2,/"id":2,"birth":1,"death":0,/'
bad_trace "id twice" 'tensor 1 appears twice' 's/"id":2/"id":1/'
bad_trace "id left out" 'tensor 9: there are 4 tensors' 's/"id":3/"id":9/'
bad_trace "tensor without bytes" 'tensor 3: "bytes" is 0' 's/"bytes":1,/"bytes":0,/'
bad_trace "negative time" 'kernel 0 \(forward\): "ns" is -1' 's/"ns":1000000000/"ns":-1/'
bad_trace "sizes that overflow" 'tensor [01]: with it, all tensors have more than' \
	's/"bytes":1024/"bytes":1125899906842624/'
bad_trace "times that overflow" 'kernel 1 .*all kernels take more than' \
	's/"ns":3000000000/"ns":9007199254740992/'
bad_trace "unknown key" 'tensor 0: unknown key "label"' 's/"name":"w"/"label":"w"/'
truncate -s 1T bad.json
refused "a trace of 1 TB" "1024 MiB" "$annex" trace show bad.json
rm -f bad.json
refused "a report of a trace that cannot be written" "report" sh -c \
	"'$annex' trace show small.json >/dev/full"

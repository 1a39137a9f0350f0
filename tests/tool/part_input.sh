# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Options that are no numbers, and pipes and devices as files: an error, and no endless wait.

claim "a trace" "$annex" trace gen gpt2 --batch 1 -o input.json
for number in ' 5' '+5' 0x10 5s '' . e3 nan inf -1; do
	refused "$number seconds" "--seconds" "$annex" bench block mem:4M "--seconds=$number"
	refused "$number seconds of a range" "--seconds" "$annex" bench hdm 'shm:range?size=8M' \
		"--seconds=$number"
	refused "a share of $number" "--selectivity" "$annex" scan gen -o table \
		"--selectivity=$number"
	refused "noise of $number" "--noise" "$annex" simulate input.json --policy uvm \
		"--noise=$number"
	refused "endurance of $number" "--endurance" "$annex" simulate input.json --policy uvm \
		"--endurance=$number"
	refused "a GPU of $number" "--gpu" "$annex" simulate input.json --policy uvm \
		"--gpu=$number"
	refused "$number threads" "--threads" "$annex" bench block mem:4M "--threads=$number"
done
for number in 0x10 +5 '' . e3 nan; do
	refused "a filter by $number" "--where" "$annex" scan --columns nowhere --where "a>=$number"
done
for number in .5 0.5 5e-1 00.5; do
	claim "a share of $number" "$annex" scan gen -o table --rows 100 "--selectivity=$number"
	rm -r table
done

# Pipes without a writer, devices without an end, and files of the kernel.
mkfifo pipe
refused "a CSV file in a pipe" "not a regular file" "$annex" scan --csv pipe --where 'a>1'
refused "a CSV file in a pipe, to import" "not a regular file" "$annex" scan import pipe -o table
refused "a table in a pipe" "not a regular file" "$annex" query load \
	--range 'shm:range?size=8M' pipe
refused "a kernel in a pipe" "not a regular file" "$annex" ndp time pipe zero:4096
refused "a CSV file without end" "not a regular file" "$annex" scan --csv /dev/zero --where 'a>1'
refused "a graph without end" "line of more than 16777216 bytes" "$annex" graph import snap \
	/dev/zero -o made.csr
truncate -s 20M hole
refused "a CSV file of zeroes" "field of more than 64 KiB" "$annex" scan --csv hole --where 'a>1'
if command -v script >/dev/null; then
	# The terminal's output goes to out; the writer comes when the command has said so.
	script -qec "'$annex' trace show pipe" /dev/null >out 2>&1 </dev/null &
	end=$((SECONDS + 30))
	until grep -q "waiting for another program to write to pipe" out || [ $SECONDS -gt $end ]
	do :; done
	timeout 30 cp input.json pipe
	wait $!
	holds "a command that waits for a pipe says so" grep -q "waiting for another program" out
	holds "and reads it then" grep -q "model *gpt2" out
fi
rm -f pipe hole input.json

# The models' programs may be missing.
cp "$annex" alone
refused "a command of the models alone" "^annex fs: this needs the package annex-models" \
	./alone fs stat x
refused "a range of the models alone" "this needs the package annex-models" \
	./alone bench hdm 'cxlssd:?size=16M'
claim "such a range with them" "$annex" bench hdm --seconds 0.1 'cxlssd:?size=16M'
claim "a program of the models by its name" "$annex-fs" mkfs --help
rm alone

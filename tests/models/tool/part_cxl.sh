# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Programs on simulated CXL memory: annex cxl simulate, at a small scale.

cxl=("$annex" cxl simulate)

# runs KEY - The values of a key in the JSON of the last claim, run by run.
runs()
{
	sed -n "s/^      \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" out
}

# at WORKLOAD CONFIGURATION KEY - Of all runs in the JSON of the last claim, the first of these two.
at()
{
	awk -F '"' -v w="$1" -v c="$2" -v key="$3" '
		$2 == "workload" { work = $4 }
		$2 == "configuration" { config = $4 }
		$2 == key && work == w && config == c { gsub(/[: ,]/, "", $3); print $3; exit }' out
}

# Every program on every configuration, whose results are verified.
claim "all programs on all configurations" "${cxl[@]}" --scale 0.02 --json
holds "are 13 on 8, and 7 on 8" test "$(runs workload | wc -l)" -eq 160
holds "of the two sets" test "$(runs set | sort | uniq -c | xargs)" = "104 cxl-gpu 56 skybyte"
for key in workload configuration set group time_s bytes loads stores compute_instructions \
	instructions lines_loaded lines_stored switches load_mean_s store_mean_s load_p99_s \
	store_p99_s faults endpoint_reads endpoint_hits endpoint_late flash_reads flash_writes \
	flash_copies residue_pages series promoted demoted host_accesses; do
	holds "each run has $key" test "$(runs $key | wc -l)" -eq 160
	holds "the manual of JSON has $key" grep -q "^| .*\`$key\`" "$here/../../docs/json.md"
done
holds "all take time" test "$(runs time_s | awk '$1 <= 0' | wc -l)" -eq 0
mv out all.json
claim "once more, one at a time" "${cxl[@]}" --scale 0.02 --json --jobs 1
holds "the same comes out" cmp out all.json
for work in $(runs workload | uniq); do
	least=$(at "$work" dram time_s)$(at "$work" ideal time_s)
	for config in uvm gds cxl naive dynamic sr ds base p c w cp wp full; do
		time=$(at "$work" $config time_s)
		[ -z "$time" ] || below "$work: no memory is faster than DRAM, nor $config" \
			"$least" "$time"
	done
done

claim "a table" "${cxl[@]}" vadd bfs-dense --scale 0.02 \
	--sweep media=znand,ull media-percent=100,50
holds "its first line names the quantity" grep -q '^speed: ' out
holds "it has all lines" test "$(grep -cE '^(vadd|bfs-dense) ' out)" -eq 8
holds "each is as long as its head" awk '/^(cxl-gpu|skybyte) / { n = length($0) }
	/^(vadd|bfs-dense) / && length($0) != n { exit 1 }' out
claim "the same in one word" "${cxl[@]}" vadd bfs-dense --scale 0.02 \
	--sweep 'media=znand,ull' --sweep 'media-percent=100,50' --jobs 2
for show in $("${cxl[@]}" --help | sed -n '/^QUANTITY is/,/^$/s/^  \([^ ]*\) .*/\1/p'); do
	claim "a table of $show" "${cxl[@]}" vadd srad --scale 0.02 --show "$show"
	holds "names it" grep -q "^$show: " out
	holds "has two programs" test "$(grep -cE '^(vadd|srad) ' out)" -eq 2
done

# Defaults that the help tells, of CXL-GPU's machine and of SkyByte's.
claim "with defaults" "${cxl[@]}" vadd tpcc --scale 0.02 --show time
mv out default
for option in media=znand,ull media-percent=100,100 ssd-dram=128K,32M unit=128,4096 log=4M,4M \
	link=20,20 link-rate=31.5G,31.5G runtime=500,500 share=10,10 reserve=1664K,1664K \
	instruction=5000,250 threshold=2,2 switch=1,1 policy=round-robin,round-robin \
	host=128M,128M hot=7,7 \
	migration=4G,4G seed=1,1; do
	name=${option%%=*} values=${option#*=}
	[ "${values%,*}" = "${values#*,}" ] && told=${values%,*} || told=${values/,/, }
	holds "the help tells --$name ($told)" grep -qF "($told)" <("${cxl[@]}" --help |
		sed -n "/^      --$name=/,/^      --/p" | tr -s '\n ' ' ')
	gpu=() sky=()
	case $name in
	log | threshold | switch | policy | host | hot | migration) ;;
	*) gpu=(vadd "--$name=${values%,*}") ;;
	esac
	case $name in
	link-rate | runtime | share | reserve) ;;
	*) sky=(tpcc "--$name=${values#*,}") ;;
	esac
	[ ${#gpu[@]} -eq 0 ] || claim "$name of one" "${cxl[@]}" "${gpu[@]}" --scale 0.02 \
		--show time
	[ ${#gpu[@]} -eq 0 ] || holds "it is $told" grep -qxFf <(grep ^vadd default) out
	[ ${#sky[@]} -eq 0 ] || claim "$name of the other" "${cxl[@]}" "${sky[@]}" --scale 0.02 \
		--show time
	[ ${#sky[@]} -eq 0 ] || holds "it is $told" grep -qxFf <(grep ^tpcc default) out
done

# slower WORDS WORKLOAD CONFIG OPTION FAST SLOW [SCALE] - Values of an option, and their effect.
slower()
{
	local times
	claim "$1" "${cxl[@]}" "$2" --config "$3" --scale "${7-0.02}" --sweep "$4=$5,$6" --json
	mapfile -t times < <(runs time_s)
	below "$4" "${times[0]-}" "${times[1]-}"
	holds "$4 changes something" test "${times[0]-}" != "${times[1]-}"
}

slower "a longer link" vadd cxl link 20 125
slower "a slower link" vadd ds link-rate 30G 100M
slower "slower flash" vadd cxl media-percent 100 1000
slower "another flash" gauss sr media optane nand
slower "a slower runtime" vadd uvm runtime 1 500
slower "less local memory" stencil gds share 2 20
slower "less memory for stores" bfs ds reserve 1M 4K 0.1
slower "slower instructions" gemm dram instruction 1000 5000
slower "fewer threads" vadd cxl threads 64 8
slower "longer switches" tpcc full switch 0 50
slower "DRAM of the endpoint" vadd cxl ssd-dram 128K 4K
slower "hot pages that stay" ycsb wp hot 4 65535
for option in threshold=1,50 seed=1,2 policy=round-robin,random unit=1024,4096 host=4K,64M \
	migration=1M,4G; do
	claim "$option" "${cxl[@]}" ycsb --config full --scale 0.02 --sweep $option --json
	holds "$option changes something" test "$(runs time_s | uniq | wc -l)" -eq 2
done
claim "another log" "${cxl[@]}" srad --config base,w --scale 0.5 --sweep log=4M,64K --json
mapfile -t times < <(runs time_s)
below "a smaller log is slower" "${times[1]-}" "${times[3]-}"
holds "and not as fast" test "${times[1]-}" != "${times[3]-}"
holds "one without a log is unchanged" test "${times[0]-}" = "${times[2]-}"
claim "an endpoint made of DRAM" "${cxl[@]}" vadd --config dram,cxl --media dram --scale 0.02 --json
below "it is as fast as its link" "$(at vadd cxl time_s)" \
	"$(awk -v s="$(at vadd dram time_s)" 'BEGIN { print 2 * s }')"
claim "threads that do not switch" "${cxl[@]}" srad --config base --threads 24 --scale 0.02 --json
first=$(at srad base time_s)
claim "with a threshold" "${cxl[@]}" srad --config base,full --threads 24 --threshold 0 \
	--scale 0.02 --json
holds "do not" test "$(at srad base time_s)" = "$first"
printf '%s\n' read_ns=3000 program_ns=100000 erase_ns=1000000 rate=1200000000 suspend_ns=1000 >flash
claim "a file of flash" "${cxl[@]}" bfs --config cxl,ds --media ./flash --show time --scale 0.02
grep ^bfs out >held.flash
claim "that kind" "${cxl[@]}" bfs --config cxl,ds --media znand --show time --scale 0.02
holds "is the same" cmp <(grep ^bfs out) held.flash
claim "two sizes" "${cxl[@]}" rsum --config dram --sweep scale=0.02,0.1 --json
holds "the larger one takes longer" test "$(runs loads | sort -n | xargs)" = "$(runs loads | xargs)"
holds "and has more bytes" test "$(runs bytes | uniq | wc -l)" -eq 2
claim "one thread" "${cxl[@]}" --threads 1 --scale 0.01
claim "many" "${cxl[@]}" vadd ycsb --threads 1024 --scale 0.02
claim "the smallest DRAM" "${cxl[@]}" cxl-gpu --ssd-dram 4K --unit 4096 --scale 0.01
claim "and the smallest log" "${cxl[@]}" skybyte --ssd-dram 8K --log 1K --host 4K --scale 0.01
claim "configurations of both" "${cxl[@]}" vadd tpcc --config dram,cxl,base,full --scale 0.02
claim "the last of an option" "${cxl[@]}" vadd --link 9999 --link 20 --show time --scale 0.02
holds "counts" grep -qxFf <(grep ^vadd default) out

refused "no such workload" 'no workload "quake"' "${cxl[@]}" quake
refused "a workload twice" "vadd is named twice" "${cxl[@]}" vadd vadd
refused "and in its set" "vadd is named twice" "${cxl[@]}" vadd cxl-gpu
refused "no such configuration" 'no configuration "x"' "${cxl[@]}" --config x
refused "an empty one" 'no configuration ""' "${cxl[@]}" --config dram,
refused "a configuration twice" "dram is named twice" "${cxl[@]}" --config dram,dram
refused "a workload without any" "tpcc of skybyte runs on none" "${cxl[@]}" vadd tpcc --config dram
refused "a configuration without any" "--config base: it is for" "${cxl[@]}" vadd \
	--config dram,base
refused "no such quantity" "--show heat" "${cxl[@]}" --show heat
refused "nothing to compare with" "--show speed compares with dram" "${cxl[@]}" vadd \
	--config cxl
refused "of the other" "compares with base" "${cxl[@]}" --config dram,full --show slowdown
refused "an option that changes nothing" "--log: no effect" "${cxl[@]}" vadd --log 1M
refused "nor its values" "--sweep hot: no effect" "${cxl[@]}" tpcc --config base,w --sweep hot=1,2
for bad in link=x link=-1 link=1000001 link= link=0x10 link=1K link-rate=1 media-percent=0 \
	media-percent=1.5 unit=65 unit=32 unit=8192 ssd-dram=100 ssd-dram=4100 log=1000 log=1025 \
	runtime=-1 share=0.5 instruction=0 threads=0 threads=1025 threshold=x switch=1e9 \
	policy=lifo host=1 hot=0 migration=0 scale=0.001 scale=17 scale=nan seed=-1 seed=1.5 \
	media=paper media= media=./none "media=znand&look_ns=0"; do
	refused "$bad" "^annex cxl simulate: --${bad%%=*}[: ]" "${cxl[@]}" "--$bad"
	refused "sweep over $bad" "^annex cxl simulate: --sweep ${bad%%=*}[: ]" "${cxl[@]}" \
		--sweep "$bad"
done
refused "a long name" "at most 200 bytes" "${cxl[@]}" --media "./$(printf %0300d 0)"
echo 'read_ns = x' >flash
refused "a file that is no flash" "--media: ./flash:1" "${cxl[@]}" --media ./flash
refused "no flash with an SSD" "gds needs an SSD" "${cxl[@]}" cxl-gpu --media dram
refused "nor SkyByte's" "base needs an SSD" "${cxl[@]}" skybyte --media dram
refused "a log without room" "--log: 33554432 bytes" "${cxl[@]}" tpcc --log 32M
refused "nor in a small DRAM" "4096 bytes of --ssd-dram" "${cxl[@]}" tpcc --ssd-dram 4K
refused "sweep without values" "KEY=VALUE" "${cxl[@]}" --sweep link
refused "over an unknown option" "--sweep colour: not" "${cxl[@]}" --sweep colour=1
refused "nor in the next word" "--sweep colour: not" "${cxl[@]}" --sweep link=1 colour=1
refused "a sweep twice" "--sweep link: given twice" "${cxl[@]}" --sweep link=1 link=2
refused "a value twice" "20 is given twice" "${cxl[@]}" --sweep link=20,20
refused "and an option" "option sets that already" "${cxl[@]}" --link 1 --sweep link=2
refused "too many values" "more than 64 values" "${cxl[@]}" --sweep "seed=$(seq -s , 65)"
many=$(seq -s , 64)
refused "too many runs" "more than 100000 runs" "${cxl[@]}" --sweep "seed=$many" "hot=$many" \
	"link=$many"
refused "too many keys" "more than 6 options" "${cxl[@]}" --sweep link=1 hot=1 seed=1 threads=1 \
	scale=1 switch=1 share=1
refused "no jobs" "--jobs 0" "${cxl[@]}" --jobs 0
refused "a report without a place" "there is no report" "${cxl[@]}" --plot - --json
[ ! -c /dev/full ] || refused "a full disk" "No space left" sh -c \
	"'$annex' cxl simulate vadd --config dram --scale 0.02 >/dev/full"
refused "no command" "no command: see" "$annex" cxl

if command -v gnuplot >/dev/null; then
	small=(--scale 0.02 --show)
	claim "bars" "${cxl[@]}" vadd bfs-dense "${small[@]}" speed --plot bars.svg
	claim "of values that are 0" "${cxl[@]}" cxl-gpu "${small[@]}" flash-writes --plot zero.svg
	claim "of all that are 0" "${cxl[@]}" vadd --config dram "${small[@]}" flash-writes \
		--plot none.svg
	claim "of what some have not" "${cxl[@]}" "${small[@]}" hits --plot hits.svg
	claim "curves" "${cxl[@]}" vadd srad "${small[@]}" time --sweep link=20,125 threads=8,16 \
		--plot curves.svg
	printf '%s\n' read_ns=3000 program_ns=1 erase_ns=1 rate=1000000000 >"it's"
	claim "curves of a file" "${cxl[@]}" vadd --config cxl "${small[@]}" time \
		--sweep "media=znand,./it's" --plot file.svg
	claim "in names" "${cxl[@]}" vadd --config cxl "${small[@]}" time --sweep link=1,2 \
		"media=znand,./it's" --plot names.svg
	for file in bars zero none hits curves file names; do
		holds "$file.svg begins" grep -q '<svg' $file.svg
		holds "$file.svg ends" grep -q '</svg>' $file.svg
	done
	holds "curves are named" grep -q 'srad full threads=16' curves.svg
	claim "to standard output" "${cxl[@]}" vadd "${small[@]}" load --plot -
	holds "is the plot alone" grep -q '^<?xml' out
	refused "plot over a plot" "overwrite" "${cxl[@]}" vadd --plot bars.svg
	claim "when told to" "${cxl[@]}" vadd "${small[@]}" time --plot bars.svg --overwrite
fi
refused "no gnuplot" "gnuplot-nox" env PATH="$dir" "$annex" cxl simulate vadd --plot bad.svg

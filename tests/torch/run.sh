#!/bin/bash
# SPDX-License-Identifier: MIT
# Stored arrays in Python, the PyTorch exporter and annex.offload, on the CPU: run.sh ANNEX. Random
# programs have the seeds 0 to 11; the step pytorch-10000 of the check has more. The tool must read
# the exporter's traces; the library is the one beside it. ALL=1: more of each kind.
set -u

annex=$(realpath "$1") || exit 1
here=$(cd "$(dirname "$0")" && pwd)
tools=$here/../../tools/python
# Debian's own Python has Debian's PyTorch; another one may come first in the path.
python=${PYTHON:-/usr/bin/python3}
dir=$(mktemp -d) || exit 1
disk=$(mktemp -d -p "$(dirname "$annex")") || exit 1
trap 'rm -rf "$dir" "$disk"' EXIT
cd "$dir" || exit 1
ANNEX_LIBRARY=$(dirname "$annex")/libannex.so
# PyTorch's waiting threads must not spin: they would take a processor from the tests.
OMP_WAIT_POLICY=PASSIVE
export PYTHONDONTWRITEBYTECODE=1 ANNEX_LIBRARY OMP_WAIT_POLICY ALL=${ALL:-0}
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. "$here/../claim.sh"
# shellcheck source=tests/torch/claims.sh
. "$here/claims.sh"

# one_line WORDS PATTERN COMMAND... - It fails, and says why in one line.
one_line()
{
	local words=$1 pattern=$2
	shift 2
	if ! "$@" >out 2>"$claim_log" && [ "$(wc -l <"$claim_log")" -eq 1 ] &&
		grep -q "$pattern" "$claim_log"; then
		ok
	else
		fail "$words: $*"
	fi
}

claims "$python" "$here/arrays.py" "$tools" "$annex"
claims "$python" "$here/batches.py" "$tools"
claims "$python" "$here/exporter.py" "$tools"
if reason=$("$python" "$here/whole.py" "$tools" --check); then
	for part in whole offload look twin contained; do
		claims "$python" "$here/$part.py" "$tools" "$annex"
	done
	claims timeout 300 "$python" "$here/workers.py" "$tools"
	claims "$python" "$here/weights.py" "$tools" "$disk"
	claims "$python" "$here/pages.py" "$tools" "$annex" \
		"$here"/../../docs/{train-larger,without-root,cannot}.md
	claims "$python" "$here/fuzz.py" "$tools" --programs $((ALL ? 200 : 12))
	# As in a container.
	claims "$here/../tool/refuse.py" EPERM userfaultfd device io_uring -- \
		"$python" "$here/fuzz.py" "$tools" --programs $((ALL ? 20 : 3))
	# Storage is written past the page cache, which memory's own file systems cannot.
	claims "$python" "$here/comparison.py" "$disk"
	claims "$python" "$here/ranks.py" "$tools"
else
	skip "annex.offload: $reason"
fi
for example in mlp transformer; do
	claim "example $example" "$python" "$tools/annex_torch.py" --example $example \
		-o example-$example.json --iterations 2
	claim "its output is a trace" "$annex" trace show example-$example.json
	claim "the output of the tests is a trace" "$annex" trace show $example.json
done
claim "an example without memory" "$python" "$tools/annex_torch.py" --example mlp --device meta \
	--gpu h100 -o meta.json
claim "its output is a trace" "$annex" trace show meta.json
claim "a trace with kept gradients is a trace" "$annex" trace show kept.json
one_line "no such example" "example" "$python" "$tools/annex_torch.py" --example cnn -o x.json
one_line "no GPU for times" "gpu=" "$python" "$tools/annex_torch.py" --example mlp --device meta \
	-o x.json
cp "$tools/annex_torch.py" alone.py
one_line "times of a GPU without the package" "package annex" "$python" alone.py --example mlp \
	--device meta --gpu h100 -o x.json
one_line "no such directory" "nowhere" "$python" "$tools/annex_torch.py" --example mlp \
	-o nowhere/x.json
one_line "no PyTorch" "PyTorch" "$python" -S "$tools/annex_torch.py" --example mlp -o x.json
claim "the comparison: losses are the same" "$python" "$tools/compare.py" \
	--model convnet --iterations 1 --memory 160M --json
one_line "a comparison of no such model" "model" "$python" "$tools/compare.py" --model cnn
claims_end

# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# What several parts need, made in the folder of a part; sourced by run.sh.

# chain FILE LAYERS WEIGHT ACTIVATION NS - A trace of that many layers forward and backward, each
# with a weight and an activation of so many MiB.
chain()
{
	awk -v n="$2" -v w="$3" -v a="$4" -v ns="$5" 'BEGIN {
		printf "{\"format\":\"annex-trace/1\",\n \"tensors\":[\n"
		for (i = 0; i < n; i++)
			printf "  {\"id\":%d,\"bytes\":%.0f,\"global\":true},\n", i, w * 1048576
		for (i = n; i < 2 * n; i++)
			printf "  {\"id\":%d,\"bytes\":%.0f,\"global\":false}%s\n", i, a * 1048576,
				i < 2 * n - 1 ? "," : ""
		printf " ],\n \"kernels\":[\n"
		for (i = 0; i < n; i++) {
			input = i ? i "," n + i - 1 : i
			printf "  {\"name\":\"forward%d\",\"ns\":%d,", i, ns
			printf "\"in\":[%s],\"out\":[%d]},\n", input, n + i
		}
		for (i = n - 1; i >= 0; i--) {
			printf "  {\"name\":\"backward%d\",\"ns\":%d,", i, ns
			printf "\"in\":[%d,%d],\"out\":[%d]}%s\n", i, n + i, i, i ? "," : ""
		}
		printf " ]}\n"
	}' >"$1"
}

# fact KEY - A value from the JSON of the last claim: a number, a string or a word.
fact()
{
	sed -n "s/^ *\"$1\": *\(.*[^,]\),\{0,1\}$/\1/p" out | head -n 1
}

# below WORDS A B - The number A is not above B, but for rounding.
below()
{
	holds "$1: $2 is above $3" awk -v a="$2" -v b="$3" \
		'BEGIN { exit !(a != "" && b != "" && a <= b * (1 + 1e-9)) }'
}

# A trace, others, and the machine that plans of them are for.
make_trace()
{
	chain chain.json 24 8 64 10000000
	chain heavy.json 24 64 8 10000000
	chain second.json 16 8 96 8000000
	machine=(--gpu 1G --host 512M --ssd-read 3.2G --ssd-write 3.2G)
}

# Of the first trace.
make_plans()
{
	"$annex" plan chain.json "${machine[@]}" -o chain.plan >out
}

# In the folder broken, a gnuplot that fails.
make_broken()
{
	mkdir -p broken
	printf '#!/bin/sh\necho "no terminal" >&2\nexit 1\n' >broken/gnuplot
	chmod +x broken/gnuplot
}

# Two kernels of 1 and 3 s, which use all but one byte of what lives.
make_small()
{
	cat >small.json <<'EOF'
{"format":"annex-trace/1","model":"small","batch":2,
 "tensors":[
  {"id":1,"bytes":1024,"global":false,"role":"activation"},
  {"id":0,"bytes":1024,"global":true,"role":"weight","name":"w"},
  {"id":2,"bytes":1023,"global":false},
  {"id":3,"bytes":1,"global":true,"role":"weight"}
 ],
 "kernels":[
  {"name":"forward","ns":1000000000,"in":[0],"out":[1]},
  {"name":"back\u001b[31mward","ns":3000000000,"in":[1,0],"out":[2]}
 ]
}
EOF
}

make_graph()
{
	"$annex" graph gen kron --scale 12 --weights -o k.csr >out
}

# A path of eight vertices: what the answers are is known.
make_path()
{
	local i
	for i in 0 1 2 3 4 5 6; do
		echo "$i $((i + 1)) 10"
	done >path.txt
}

# Edges between numbers with gaps, one of them twice.
make_ids()
{
	printf '# a comment\n100\t200\n200\t300\n300\t300\n100\t200\n' >ids.txt
}

# Of a table with quoted names, empty fields and text.
make_csv()
{
	cat >t.csv <<-END
		id,"fare, all",name,empty
		1,2.5,"Smith, J.",7
		2,3.5,"two
		lines",
		3,-1e1,"say ""hi""",9
	END
}

# The graphs, images, columns and vectors that part_bad.sh spoils.
make_victims()
{
	make_graph
	make_path
	make_ids
	make_csv
	"$annex" graph gen kron --scale 12 --weights --ids 8 -o wide.csr &&
		"$annex" graph gen kron --scale 12 --weights --seed 2 -o k2.csr &&
		"$annex" graph gen urand --scale 10 --degree 4 -o u.csr &&
		"$annex" graph import snap ids.txt -o ids.csr &&
		"$annex" copy k2.csr file:a.img file:b.img &&
		"$annex" copy k.csr file:c.img file:d.img --layout replica &&
		"$annex" scan gen --rows 100000 --selectivity 0.01 -o trips &&
		"$annex" scan import t.csv -o t &&
		"$annex" vadd gen x.f64 --size 1200K &&
		"$annex" vadd gen y.f64 --size 1200K --seed 2 &&
		"$annex" vadd x.f64 y.f64 -o z.f64
	mkdir temp
}

# npy FILE TYPE SHAPE - The elements of FILE behind a header, as numpy's save() makes it.
npy()
{
	printf '\x93NUMPY\x01\0\x76\0%-117s\n' \
		"{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
	cat "$1"
}

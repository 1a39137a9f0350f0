# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# docs/guide.md: the list of its chapter "The tool" works as it is typed, in its order, here with
# smaller sizes. It runs graph, scan, trace, plan, cxl, ndp, serve and fs.

guide=$here/../../docs/guide.md
holds "the guide has docs/examples/element.c" \
	python3 - "$guide" "$here/../../docs/examples/element.c" <<-'END'
		import sys
		guide, example = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
		sys.exit(example.split("\n", 1)[1] not in guide)
	END

smaller=(-e 's/--scale 22/--scale 12/' -e 's/10M/100K/' -e 's/256M/4M/' -e 's/1G/64M/'
	-e 's/ssd=3.2,6.4,12.8 //' -e 's/selftest/& --seconds 0/'
	-e 's/skybyte/& --scale 0.01/')
command -v gnuplot >/dev/null || smaller+=(-e 's/--plot [a-z]*\.svg//')
command -v apt-cache >/dev/null || smaller+=(-e '/packages/d')
[[ -w /dev/fuse && -n $(command -v fusermount3) ]] ||
	smaller+=(-e '/fs mount/d' -e '/^fusermount3/d')
mapfile -t lines < <(sed -n '/^## The tool$/,${/^```$/,/^```$/p}' "$guide" |
	sed -e '/^```$/d' "${smaller[@]}")
holds "the list is there" test ${#lines[@]} -gt 20
mkdir bin tour
ln -s "$annex" bin/annex
path=$PATH
PATH=$PWD/bin:$PATH
cd tour || exit 1
cp "$here/../../docs/examples/packages.awk" .
for line in "${lines[@]}"; do
	case $line in
	*' & #'*)
		timeout 60 bash -c "exec ${line%%&*}" >../served 2>&1 &
		server=$!
		until [ -s ../served ] || ! kill -0 $server 2>/dev/null; do
			:
		done
		holds "typed: $line" grep -q '^ready: ' ../served
		;;
	'kill %1')
		kill $server
		wait $server 2>/dev/null
		;;
	*) claim "typed: $line" bash -c "$line" ;;
	esac
done
cd .. || exit 1
PATH=$path
rm -rf bin tour served

# What --json prints with an error, as the head of docs/json.md says it.
for words in "graph bfs none.csr" "plan none.json" "bench block file:none" "verify unix:none"; do
	# shellcheck disable=SC2086
	refused "an error of $words" "" "$annex" $words --json
	holds "and nothing on standard output" test ! -s out
done

#!/bin/bash
# SPDX-License-Identifier: MIT
# annex.offload with PyPI's PyTorch, on the CPU: pypi.sh ANNEX FOLDER. Its packages, some GB, are
# fetched into FOLDER once. The library is the one beside ANNEX, the package is that of a wheel.
set -u

annex=$(realpath "$1") || exit 1
library=$(dirname "$annex")/libannex.so
venv=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1 ANNEX_LIBRARY=$library
claim_log=$(mktemp) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir" "$claim_log"' EXIT
# shellcheck source=tests/claim.sh
. "$here/../claim.sh"
# shellcheck source=tests/torch/claims.sh
. "$here/claims.sh"

fetched()
{
	[ -x "$venv/bin/pip" ] || /usr/bin/python3 -m venv "$venv" || return
	"$venv/bin/pip" install -q --disable-pip-version-check 'torch==2.15.*' numpy setuptools \
		'transformers==5.*' accelerate safetensors lightning 'torch_geometric==2.8.*'
}

# Twice, with the same bytes, and installed in a place of its own.
wheel()
{
	local n
	for n in 1 2; do
		PYTHON=$venv/bin/python "$here/../../tools/deb/build.sh" wheel "$dir/wheel$n" \
			"$library" ||
			return
	done
	cmp "$dir"/wheel[12]/*.whl && "$venv/bin/pip" install -q --disable-pip-version-check \
		--no-deps --target "$dir/site" "$dir"/wheel1/*.whl
}

claim "PyPI's packages are in $venv" fetched
claim "a wheel is made, and installed" wheel
[ "$failed" -eq 0 ] || { claims_end; exit; }
cd "$dir" || exit 1
# PyTorch has the compiler look for libraries in Python's folder first, where Debian's PyTorch is.
lib=$("$venv/bin/python" -c 'import os, torch; print(os.path.dirname(torch.__file__))')/lib
printf '#!/bin/sh\nexec g++ -L"%s" "$@"\n' "$lib" >cxx
chmod +x cxx
export CXX=$dir/cxx TORCHINDUCTOR_CACHE_DIR=$dir/graphs
for part in whole compiled ranks libraries; do
	claims "$venv/bin/python" "$here/$part.py" "$dir/site"
done
claims "$venv/bin/python" "$here/weights.py" "$dir/site" "$venv"
claims "$venv/bin/python" "$here/callbacks.py" "$dir/site" "$here/../../tools/python/README.md"
claims "$venv/bin/python" "$here/arrays.py" "$dir/site" "$annex"
claims "$venv/bin/python" "$here/batches.py" "$dir/site"
if [ "$(id -u)" -eq 0 ]; then
	claims "$venv/bin/python" "$here/neighbours.py" "$dir/site" "$(dirname "$venv")"
else
	skip "neighbours.py: root makes a memory cgroup"
fi
claims_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# Make section 1 of the manual from --help of each command: section1.sh ANNEX DIR VERSION
set -eu -o pipefail

PATH=$(realpath "${1%/*}"):$PATH
dir=$2
version=$3

# finish PAGE - The page has its own name, and the lines of its examples stay as they are.
finish()
{
	awk -v page="$1" '
		/^\.TH/ { sub(/ANNEX/, toupper(page)) }
		naming { sub(/.* \\- /, page " \\- ") }
		{ naming = /^\.SH NAME/ }
		/^\.SH/ && examples { print ".fi"; examples = 0 }
		!examples || !/^\.(IP|PP)/
		/^\.SH EXAMPLE/ { print ".nf"; examples = 1 }
		END { if (examples) print ".fi" }'
}

# page COMMAND SUMMARY ALSO - Write the pages of a command and of its subcommands.
page()
{
	local name summary row rows also=$3
	mapfile -t rows < <($1 --help | sed -n '/^COMMAND is one of:/,/^$/s/^  //p')
	for row in "${rows[@]}"; do
		also+=", ${1// /-}-${row%% *}(1)"
	done
	help2man --no-info --version-string="$version" --source="annex $version" --manual=Annex \
		--name="$2" --include=<(printf '[SEE ALSO]\n%s\n' "$also") "$1" |
		finish "${1// /-}" >"$dir/${1// /-}.1"
	for row in "${rows[@]}"; do
		read -r name summary <<<"$row"
		page "$1 $name" "$summary" "${1// /-}(1), annex_uri(7)"
	done
}

page annex "work on data larger than memory, straight from storage" "annex_uri(7)"
# annex-models has all commands of annex and of the models.
ln -sf annex.1 "$dir/annex-models.1"

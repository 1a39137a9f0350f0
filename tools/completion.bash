# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completion of annex for bash. Options come from the help of each command, so that they are those
# of the version that is installed.

_annex_commands()
{
	"$@" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'
}

_annex_options()
{
	"$@" --help 2>/dev/null | grep -o -- '--[a-z][a-z]*'
}

# The words that an option takes, where they are few.
_annex_values()
{
	case $1 in
	--layout) echo stripe replica ;;
	--access) echo array mmap memory ;;
	--advise) echo normal random ;;
	--type) echo f64 f32 i64 i32 u64 u32 ;;
	--ids) echo 4 8 ;;
	--device) echo mem: file: ;;
	esac
}

_annex()
{
	local cur prev words cword command=(annex) list
	_init_completion -n : || return
	case ${words[1]} in
	graph) command+=(graph ${words[2]:+"${words[2]}"}) ;;
	scan | vadd | copy) command+=("${words[1]}") ;;
	esac
	case ${words[1]}/${words[2]} in
	scan/import | scan/gen | vadd/gen) command+=("${words[2]}") ;;
	esac
	list=$(_annex_values "$prev")
	if [ -n "$list" ]; then
		:
	elif [ "$cword" -eq 1 ]; then
		list=$(_annex_commands annex)
	elif [ "$cword" -eq 2 ] && [ "${words[1]}" = graph ]; then
		list=$(_annex_commands annex graph)
	elif [ "$cword" -eq 3 ] && [ "${words[2]}" = import ] && [ "${words[1]}" = graph ]; then
		list="mtx snap debian"
	elif [ "$cword" -eq 3 ] && [ "${words[2]}" = gen ] && [ "${words[1]}" = graph ]; then
		list="kron urand"
	elif [[ $cur == -* ]]; then
		list=$(_annex_options "${command[@]}")
	else
		_filedir
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}

complete -F _annex annex

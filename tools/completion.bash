# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for annex(1). Commands, options and what their arguments may be are read from
# annex --help, so that they are those of the version that is installed.

# Print the names in the list of what "$1" is in the help of the rest. Those that go on, with a
# device's path or a key's value, end with : or =.
_annex_listed()
{
	local argument=$1
	shift
	"$@" --help 2>/dev/null </dev/null | sed -n "/^$argument is one of:/,/^\$/p" |
		sed -n 's/^  \([a-z0-9.-]*[:=]\{0,1\}\)\( .*\)\{0,1\}$/\1/p'
}

# Print the options in the help of "$@": --name, or --name= where a value follows.
_annex_options()
{
	"$@" --help 2>/dev/null </dev/null |
		sed -n 's/^  \(-., \|    \)\(--[a-z-]*=\{0,1\}\).*/\2/p'
}

# Print the words that "$1", an argument as the help of the rest has it, can be: a|b|c, or a list.
_annex_words()
{
	local argument=${1%%[=,. ]*}
	shift
	case $argument in
	*'|'*) tr '|' '\n' <<<"$argument" ;;
	[A-Z]*) _annex_listed "$argument" "$@" ;;
	esac
}

# Print the values of option "$1" in the help of the rest.
_annex_values()
{
	local option=$1 argument
	shift
	argument=$("$@" --help 2>/dev/null </dev/null |
		sed -n "s/^  \(-., \|    \)$option\[\{0,1\}=\([^] ]*\).*/\2/p")
	_annex_words "$argument" "$@"
}

# Print what the first argument of a command may be.
_annex_arguments()
{
	local argument
	case $* in
	*" bind" | *" unbind") "$1" list 2>/dev/null | sed -n 's/ *\(nvme\|cxl\) .*//p' ;;
	*)
		_annex_listed COMMAND "$@"
		# The first word of the usage that is neither the command nor an option.
		argument=$("$@" --help 2>/dev/null </dev/null |
			awk -v n=$(($# + 3)) '{ gsub(/[][]/, ""); print $n; exit }')
		[[ $argument == COMMAND ]] || _annex_words "$argument" "$@"
		;;
	esac
}

_annex_reply()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_annex()
{
	local word=${COMP_WORDS[COMP_CWORD]} option='' commands i
	local -a command=("${COMP_WORDS[0]}")

	COMPREPLY=()
	# Go down to the subcommand that the cursor is in.
	for ((i = 1; i < COMP_CWORD; i++)); do
		commands=$(_annex_listed COMMAND "${command[@]}")
		[[ -n $commands && " ${commands//$'\n'/ } " == *" ${COMP_WORDS[i]} "* ]] || break
		command+=("${COMP_WORDS[i]}")
	done

	# bash makes "--layout=str" three words.
	if [[ $word == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 1]} word=''
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == --* && $word != -* ]]; then
		option=${COMP_WORDS[COMP_CWORD - 1]}
	fi
	if [[ $option == --* ]]; then
		_annex_reply "$(_annex_values "$option" "${command[@]}")" "$word"
	elif [[ $word == -* ]]; then
		_annex_reply "$(_annex_options "${command[@]}") --help" "$word"
	elif [[ ${#command[@]} -eq $COMP_CWORD ]]; then
		_annex_reply "$(_annex_arguments "${command[@]}")" "$word"
	fi
	# A value follows a = or a : at once.
	[[ ${COMPREPLY[0]-} != *[=:] ]] || compopt -o nospace 2>/dev/null
	# Everything else is a file.
	[[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null
}

complete -F _annex annex

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for annex(1). Commands, options and the choices of options are read from
# annex --help, so that they are those of the version that is installed.

# Print the subcommands that the help of "$@" lists.
_annex_commands()
{
	"$@" --help 2>/dev/null </dev/null |
		sed -n '/COMMAND \[/,$ s/^  \([a-z][a-z0-9]*\)  .*/\1/p'
	# These do something by themselves, and tell of their subcommands in prose.
	case $* in
	*" scan") printf '%s\n' import gen ;;
	*" plan") printf '%s\n' show ;;
	*" vadd") printf '%s\n' gen ;;
	esac
}

# Print the options in the help of "$@": --name, or --name= where a value follows.
_annex_options()
{
	"$@" --help 2>/dev/null </dev/null |
		sed -n 's/^  \(-., \|    \)\(--[a-z-]*=\{0,1\}\).*/\2/p'
}

# Print the lines of the list "$1" in the help of the rest, first word each.
_annex_listed()
{
	local list=$1
	shift
	"$@" --help 2>/dev/null </dev/null |
		sed -n "/^$list/,/^\$/ s/^  \([a-z][a-z0-9.-]*\)  *.*/\1/p"
}

_annex_devices()
{
	case $* in
	*" query run") printf '%s\n' local ndp: ;;
	*) printf '%s\n' mem: file: ;;
	esac
}

# Print the values of option $1 in the help of the rest: a|b|c, and those that prose tells there.
_annex_values()
{
	local option=$1
	shift
	"$@" --help 2>/dev/null </dev/null |
		sed -n "s/^  \(-., \|    \)$option=\([a-z0-9]*|[a-z0-9|]*\).*/\2/p" | tr '|' '\n'
	case $option in
	--device) _annex_devices "$@" ;;
	--cache-in | --range) printf '%s\n' shm: dax: numa: pci: ;;
	--only) printf '%s\n' queues cache spaces ranges near plans ;;
	--overwrite) [[ $* != *" selftest" ]] || printf '%s\n' mem: file: pci: ;;
	--storage) printf '%s\n' mem: file: pci: ;;
	--type) printf '%s\n' f64 f32 i64 i32 u64 u32 ;;
	--policy)
		_annex_listed Policies "$@"
		[[ $* != *" simulate" ]] || echo all
		;;
	--dtype) printf '%s\n' fp32 tf32 fp16 bf16 ;;
	--optimizer) printf '%s\n' sgd momentum adam ;;
	--sweep) printf '%s=\n' gpu host cxl pcie cxl-rate ssd-read ssd-write ssd gpus ssds ;;
	--gpu) [[ $* != *" trace gen" ]] || _annex_listed GPUs "$@" ;;
	esac
}

# Print what the first argument of a command may be.
_annex_arguments()
{
	case $* in
	*" graph import") printf '%s\n' mtx snap debian ;;
	*" graph gen") printf '%s\n' kron urand ;;
	*" verify" | *" bench block") printf '%s\n' mem: file: pci: ;;
	*" bench cuda") printf '%s\n' queues cold hot ;;
	*" bench hdm") printf '%s\n' shm: dax: numa: pci: ;;
	*" query run") printf '%s\n' q6 q14 ssb1.1 ssb1.2 ssb1.3 ;;
	*" bind" | *" unbind") "$1" list 2>/dev/null | sed -n 's/ *\(nvme\|cxl\) .*//p' ;;
	*" trace gen") _annex_listed Models "$@" ;;
	*) _annex_commands "$@" ;;
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
		commands=$(_annex_commands "${command[@]}")
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

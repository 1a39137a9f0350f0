# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Memory that cannot be had, at each site where the module asks for some on behalf of CXL memory, is
# one failed call and nothing else.
# limit: 400
. /test/lib.sh
. /test/failing.sh

nothing_left()
{
	(
		cd "/sys/class/annex/annex!$first/hdm" && ! grep . range decoders &&
			is "$(cat users)" 0
	)
}

# Linux warns when it gives back an interrupt for which it could not make the entry in /proc.
clean_but_proc()
{
	dmesg | grep -v 'WARNING: .* remove_proc_entry' >/run/others
	! suspect /run/others
}

[ "$CXL_KIND" != persistent ] || skip "there is no volatile memory"
with_hdm
address=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$address" || exit 1
# QEMU keeps its list until it ends: this page is not what other tests touch, and hdmpoison, which
# wants an empty list, runs before.
claim "there is poison" host cxl-inject-poison path=/machine/peripheral/cxl0 \
	start=$((0x7a00040)) length=64
claim "what the module does may fail" fail_in_module
# Linux's own: sections that were added before the one that failed stay, after a warning, and the
# addresses cannot be added again before the next boot.
spare arch_add_memory
claim "each site of its calls fails once" hdmscarce calls "$first" "$address"
claim "nothing is left of it" within 5 nothing_left
claim "data goes to the memory and comes back" hdm fill "$first" 0
spare acpi_ns_evaluate
claim "each site of its probing and removing fails once" hdmscarce binding "$first"
claim "it is bound again" bind_cxl "$first"
claim "data goes to the memory and comes back" hdm fill "$first" 0
claim "it unloads" rmmod annex
claim "the kernel saw nothing wrong" clean_but_proc
dmesg -c >/dev/null

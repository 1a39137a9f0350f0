# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Memory that cannot be had, at each site where the module asks for some, is one failed call and
# nothing else.
# limit: 400
. /test/lib.sh
. /test/failing.sh

claim "what the module does when it is loaded may fail" \
	fail_below "$(first do_one_initcall)" "$(behind do_one_initcall)"
claim "each site of loading fails once" faults loading "$(find /lib/modules -name annex.ko)"

with_module
claim "its work afterwards may fail" fail_in_module
pins=$(pinned)
claim "each site of its calls fails once" faults calls "$address"
claim "all mappings are taken back" [ "$(count maps)" -eq "$(count unmaps)" ]
claim "no page stays pinned" [ "$(pinned)" -eq "$pins" ]
claim "data goes to the controller and comes back as it was" place "$uri" any any
claim "each site of its probing and removing fails once" faults binding "$address"
claim "it is bound again" annex bind "$address"
claim "data goes to the controller and comes back as it was" place "$uri" any any
claim "it unloads" rmmod annex

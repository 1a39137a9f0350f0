# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The tests' programs can be run as the kernel's kselftest runs its own, on devices that are bound.
# machines: kernel flat
# limit: 90
. /test/lib.sh

# runs RC ADDRESS... - It ends with this exit status; its output is in file `said`.
runs()
{
	want=$1
	shift
	kselftest "$@" >said 2>&1
	rc=$?
	cat said
	[ $rc -eq "$want" ]
}

with_module
devices=$address
for other in $(cxl_devices); do
	[ "$CXL_KIND" != persistent ] || break
	claim "$other is bound" bind_cxl "$other" || exit 1
	devices="$devices $other"
done
claim "without a device it is skipped" runs 4
claim "which is said" grep -q '^1\.\.0 # SKIP ' said
# shellcheck disable=SC2086 # words are wanted
claim "on devices that are bound it passes" runs 0 $devices
total=$(($(echo "$devices" | wc -w) * 2))
claim "a line for each test" is "$(grep -c '^ok [0-9]* [a-z]* [^ ]*$' said)" $total
claim "as many as were announced" grep -qx "1\.\.$total" said
mkdir fake
printf '#!/bin/sh\necho why\nexit 1\n' >fake/view
chmod +x fake/view
export PATH="$PWD/fake:$PATH"
claim "a test that fails fails" runs 1 "$address"
claim "which is said" grep -qx "not ok 2 view $address" said
claim "and why" grep -qx '# why' said
for other in $(cxl_devices); do
	[ ! -c "/dev/annex/$other" ] || unbind_cxl "$other"
done
unbound()
{
	echo "$address" >"/sys/bus/pci/drivers/annex/unbind" && [ ! -e "/dev/annex/$address" ]
}
claim "the controller is taken away" unbound
claim "a device that is not bound is skipped" runs 4 "$address"
claim "it unloads" rmmod annex

# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Kernels on data in CXL memory, called by plain stores, and run by a device outside of the guest.
# machines: flat
# limit: 240
. /test/lib.sh

# A near-data processor outside serves the memory of a device.
served()
{
	host ndp do=serve file=cxl0 uncached=2M
}

with_hdm
uri="pci:$first?m2func=2M"
claim "without a device: refused" refused "no device answers" timeout 60 hdmndp run "$uri"
claim "a device outside serves the memory" served
claim "its kernels work on data in CXL memory" hdmndp run "$uri"
claim "two processes do not reach each other's memory" hdmndp apart "$uri"

start hdmndp loop "$uri"
claim "kernels run" hears 60 running
claim "the device is killed" host ndp do=kill
claim "calls end" hears 30 gone
claim "and so does the program" ended 0
claim "another device serves the memory" served
claim "its kernels work on data in CXL memory" hdmndp run "$uri"

start hdmndp loop "$uri"
claim "kernels run" hears 60 running
kill -KILL $pid
claim "a caller is killed" ended 137
claim "the next one is served" hdmndp run "$uri"
echo 0 >/sys/module/annex/parameters/shared
claim "a private piece is served too" hdmndp run "$uri&piece=16M"
claim "the device ends by itself" host ndp do=end
claim "nothing of it is left" no_range "$first"
claim "it unloads" rmmod annex

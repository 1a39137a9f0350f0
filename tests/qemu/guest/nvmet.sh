# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The kernel's NVMe-oF target, by configfs; sourced.
nvmet=/sys/kernel/config/nvmet

# subsystem DISK - One with that namespace, for any host. By its number a machine that is connected
# knows the namespace again after this one has started anew.
subsystem()
{
	mkdir $nvmet/subsystems/annex
	echo 1 >$nvmet/subsystems/annex/attr_allow_any_host
	mkdir $nvmet/subsystems/annex/namespaces/1
	printf %s "$1" >$nvmet/subsystems/annex/namespaces/1/device_path
	echo 5c1bd8a8-6d3f-4f0b-9a41-3f5f0f1e2d01 >$nvmet/subsystems/annex/namespaces/1/device_uuid
	echo 1 >$nvmet/subsystems/annex/namespaces/1/enable
}

# offer N - It can be connected to on network N.
offer()
{
	port=$nvmet/ports/$1
	mkdir "$port"
	echo ipv4 >"$port/addr_adrfam"
	echo tcp >"$port/addr_trtype"
	echo "10.0.$1.1" >"$port/addr_traddr"
	echo 4420 >"$port/addr_trsvcid"
	ln -s $nvmet/subsystems/annex "$port/subsystems/annex"
}

# take_back N - It cannot any more; connected hosts are disconnected.
take_back()
{
	rm "$nvmet/ports/$1/subsystems/annex"
	rmdir "$nvmet/ports/$1"
}

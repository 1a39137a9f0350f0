# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Pieces of persistent memory keep their names and data after the device was unbound and the module
# unloaded; two processes see the same ones.
# limit: 90
. /test/lib.sh

says()
{
	echo "$1" >&6
	hears 20 "$2"
}

# again NAME BYTES OFFSET - It is where it was.
again()
{
	is "$(hdmtake find "$uri" "$1" "$2")" "$3"
}

[ "$CXL_KIND" != volatile ] || skip "there is no persistent memory"
with_hdm
uri="pci:$first?persistent=1"
weights=$(hdmtake keep "$uri&format=1" weights 1048576 2>error)
claim "a piece is named" eval 'cat error; is "${weights%% *}" at' || exit 1
claim "it is found by the next one" again weights 1048576 "$weights"
claim "another of that name: refused" refused "there is a weights already" \
	hdmtake keep "$uri" weights 4096
mkfifo go
exec 6<>go
start hdmtake hold "$uri" go
claim "a process has the range open" hears 20 open
claim "it takes a small piece" says small "at "
biases=$(hdmtake keep "$uri" biases 8192 2>error)
claim "another one names a piece" eval 'cat error; is "${biases%% *}" at'
claim "which the first one sees" says "find biases 8192" "$biases"
kill -KILL "$pid"
claim "it is killed" ended 137
claim "the range ends with it" within 5 no_range "$first"
claim "the device is unbound" unbind_cxl "$first"
claim "and bound again" bind_cxl "$first"
claim "the first piece is there" again weights 1048576 "$weights"
claim "the second one too" again biases 8192 "$biases"
claim "the module is unloaded" rmmod annex
claim "and loaded again" modprobe annex allow_no_iommu=1 shared=1
claim "the device is bound" bind_cxl "$first"
claim "the first piece is there" again weights 1048576 "$weights"
claim "the second one too" again biases 8192 "$biases"
claim "the device is unbound" unbind_cxl "$first"
claim "another driver has made a namespace in it" host label file=label0 words=NAMESPACE_INDEX
claim "the device is bound" bind_cxl "$first"
claim "the namespace is not overwritten" refused "Operation not permitted" \
	hdmtake find "$uri" biases 8192
claim "as the log says" eval 'dmesg | grep "it has namespaces: see allow_labels"'
echo 1 >/sys/module/annex/parameters/allow_labels
claim "unless root allows it" again biases 8192 "$biases"
claim "the labels go" host label file=label0 words=
claim "an unknown name: not found" refused "No such file" hdmtake find "$uri" other 8192
claim "it unloads" rmmod annex

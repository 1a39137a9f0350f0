# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The guest of `make lab`: what a machine's own start would have done, then a shell.

modprobe -q nvme
if [ "$CXL" -gt 0 ]; then
	for module in cxl_acpi cxl_port cxl_pci cxl_mem; do
		modprobe -q $module
	done
fi
modprobe -q annex && loaded="annex.ko is loaded." || loaded="annex.ko is not built."
modprobe -q 9pnet_virtio
modprobe -q 9p
mount -t 9p -o trans=virtio,version=9p2000.L,msize=131072 share /share

stty -F "/dev/$PORT" raw -echo
cat >/bin/host <<'END'
#!/bin/sh
exec 3<>"/dev/$PORT"
. /test/lib.sh
host "$@"
END
chmod +x /bin/host

# There is no init that poweroff could ask.
echo "alias poweroff='poweroff -f'" >/etc/shrc

[ "$COLUMNS" -eq 0 ] || stty -F /dev/console cols "$COLUMNS" rows "$LINES"
echo
echo "Linux $(uname -r), up in $(cut -d ' ' -f 1 /proc/uptime) s. $loaded"
echo "annex is on the path, /share is shared with the outside, host COMMAND KEY=VALUE... asks QEMU."
cd /root || exit 1
export ENV=/etc/shrc PS1='lab:\w# ' TERM=linux
setsid cttyhack sh
poweroff -f

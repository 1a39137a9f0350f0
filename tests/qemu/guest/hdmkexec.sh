# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Decoders are given back before the next kernel begins, though their range is in use: kexec, where
# nothing is reset in between. It has a machine of its own, since the next kernel runs nothing but
# what looks at decoders.
# limit: 90
. /test/lib.sh

# next_init DECODER... - What the next kernel runs, in place of /init. A committed decoder says so
# in bit 10 of its control register.
next_init()
{
	cat <<-END
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		mount -t devtmpfs dev /dev
		stty -F /dev/ttyS1 raw -echo
		exec 3<>/dev/ttyS1
		for decoder in $*; do
			at=\$(printf 0x%x \$((decoder + 0x10)))
			ctrl=\$(devmem \$at 32)
			echo "# \$at is \$ctrl" >&3
			free=ok
			[ -n "\$ctrl" ] && [ \$((ctrl & 0x400)) -eq 0 ] || free="not ok"
			echo "\$free the next kernel finds the decoder at \$decoder free" >&3
		done
		echo "end hdmkexec 0" >&3
		reboot -f
	END
}

with_hdm
mkfifo go
exec 6<>go
start hdm hold "$first" go
claim "a range is held" hears 20 holding
# shellcheck disable=SC2046 # words are wanted
set -- $(decoders "$first" | sed -n 's/.* at \(0x[0-9a-f]*\) base .*/\1/p')
claim "it has decoders" [ $# -gt 0 ]
mkdir -p next/bin next/dev
cp /bin/busybox next/bin
ln -s busybox next/bin/sh
next_init "$@" >next/init
chmod 755 next/init
claim "there is something to run" eval \
	'(cd next && find . | cpio -o -H newc -R 0:0 2>/dev/null) >initramfs && [ -s initramfs ]'
claim "the next kernel begins" hdmkexec /vmlinuz initramfs \
	"console=ttyS0 panic=-1 no_timer_check mitigations=off"

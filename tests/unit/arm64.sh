#!/bin/bash
# SPDX-License-Identifier: MIT
# The unit tests, built for aarch64 and run by qemu-aarch64: arm64.sh SUITE...
# With `build` in the place of suites, all that runs there is built, and no more.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/qemu/build.sh
. tests/qemu/build.sh

kernel=$(tests/qemu/kernel.sh arm64) || exit 1
exec 8>"$build/qemu/lock" && flock -w 3600 8 || die "$build/qemu is being built by another process"
build_programs "$kernel" all unit guest-build
exec 8>&-
[ "$*" = build ] || exec env UNDER="qemu-aarch64 -L $kernel/root" tests/unit/run.sh "$out" "$@"

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An archive for the front of an initramfs, with which Linux takes another DMAR table in the place
of QEMU's: one of a firmware that wants a device to reach memory of its own (RMRR; Intel's
Virtualization Technology for Directed I/O, section 8).

  rmrr.py SLOT >ARCHIVE    the device behind the root port in that slot of bus 0
"""
import struct
import sys

REGISTERS = 0xFED90000  # of the remapping unit, on q35
FIRMWARE = 0xFFFC0000, 0xFFFCFFFF  # memory that firmware keeps for itself in the map of memory
ENDPOINT, IOAPIC = 1, 3
PLATFORM_BUS = 0xFF  # where QEMU has the I/O APIC


def scope(kind, bus, *path):
    """A device: its bus, then slot and function of each port on the way, and its own."""
    body = b"".join(struct.pack("<BB", *hop) for hop in path)
    return struct.pack("<BBHBB", kind, 6 + len(body), 0, 0, bus) + body


def structure(kind, body):
    return struct.pack("<HH", kind, 4 + len(body)) + body


def dmar(slot):
    unit = struct.pack("<BBHQ", 1, 0, 0, REGISTERS)  # of all devices
    wanted = struct.pack("<HHQQ", 0, 0, *FIRMWARE)
    body = struct.pack("<BB10x", 38, 1)  # 39 bits of addresses; interrupts are remapped
    body += structure(0, unit + scope(IOAPIC, PLATFORM_BUS, (0, 0)))
    body += structure(1, wanted + scope(ENDPOINT, 0, (slot, 0), (0, 0)))
    body += structure(2, struct.pack("<BBH", 1, 0, 0))  # all ports: addresses are cached
    # Of the same name as QEMU's, but newer: else it is one more table.
    head = struct.pack("<4sIBB6s8sI4sI", b"DMAR", 36 + len(body), 1, 0, b"BOCHS ", b"BXPC    ",
                       2, b"ANNX", 1)
    table = bytearray(head + body)
    table[9] = -sum(table) & 0xFF
    return bytes(table)


def entry(name, data, mode):
    """A member of a cpio archive, in its "new" ASCII form."""
    numbers = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    member = ("070701" + "".join(f"{n:08x}" for n in numbers) + name + "\0").encode()
    member += b"\0" * (-len(member) % 4)
    return member + data + b"\0" * (-len(data) % 4)


def main():
    folders = "kernel", "kernel/firmware", "kernel/firmware/acpi"
    archive = b"".join(entry(name, b"", 0o040755) for name in folders)
    archive += entry(folders[-1] + "/DMAR.aml", dmar(int(sys.argv[1])), 0o100644)
    archive += entry("TRAILER!!!", b"", 0)
    sys.stdout.buffer.write(archive + b"\0" * (-len(archive) % 512))


main()

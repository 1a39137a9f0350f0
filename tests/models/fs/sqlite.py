#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Transactions of SQLite, each noted when its commit has returned.

  sqlite.py write DATABASE LOG JOURNAL   until something fails; JOURNAL is delete, truncate, persist
                                         or wal; synchronous=FULL
  sqlite.py verify DATABASE LOG          each noted one is there, whole, and one more at most
"""
import hashlib
import sqlite3
import sys

ROWS = 5


def text(number, row):
    words = hashlib.sha256(f"{number} {row}".encode()).hexdigest()
    return words * ((number * 7 + row) % 40 + 1)


def write(database, log, journal):
    with open(log, "a", encoding="ascii", buffering=1) as noted:
        db = sqlite3.connect(database, isolation_level=None)
        mode = db.execute(f"PRAGMA journal_mode={journal}").fetchone()[0]
        if mode != journal:
            sys.exit(f"sqlite: journal_mode is {mode}, not {journal}")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE IF NOT EXISTS t (number INT, row INT, text, UNIQUE (number, row))")
        number = db.execute("SELECT max(number) FROM t").fetchone()[0] or 0
        try:
            while True:
                number += 1
                db.execute("BEGIN")
                for row in range(ROWS):
                    db.execute("INSERT INTO t VALUES (?, ?, ?)", (number, row, text(number, row)))
                if number % 3 == 0:
                    db.execute("DELETE FROM t WHERE number = ?", (number // 3 * 2,))
                db.execute("COMMIT")
                noted.write(f"{number}\n")
        except sqlite3.Error:
            pass


def verify(database, log):
    with open(log, encoding="ascii") as noted:
        last = max([int(line) for line in noted], default=0)
    db = sqlite3.connect(database)
    said = db.execute("PRAGMA integrity_check").fetchall()
    if said != [("ok",)]:
        sys.exit(f"sqlite: integrity_check: {said[:3]}")
    rows = db.execute("SELECT number, row, text FROM t ORDER BY number, row").fetchall()
    most = max([number for number, _, _ in rows], default=0)
    if not last <= most <= last + 1:
        sys.exit(f"sqlite: {last} transactions were committed, the last one there is {most}")
    gone = {number // 3 * 2 for number in range(3, most + 1, 3)}
    # A number is removed after it was added, unless both are one.
    kept = [n for n in range(1, most + 1) if n not in gone]
    if rows != [(n, row, text(n, row)) for n in kept for row in range(ROWS)]:
        sys.exit(f"sqlite: the rows differ from {most} transactions")
    print(f"{most} transactions")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    {"write": write, "verify": verify}[sys.argv[1]](*sys.argv[2:])

#!/usr/bin/env python3
"""Turns leaked passwords into the text of a database for the page's view of passwords.

Lines of the input are passwords, or SHA-1 and count as the lists of haveibeenpwned.com have them.
Lines of the output are the first 80 bits of SHA-1 in upper case, a tab and how often the password
was seen: what `he-cli lookup prepare --by-key` reads.

    web/passwords.py leaked.txt > passwords.tsv
    he-cli lookup prepare passwords/ passwords.tsv --by-key --record-bytes 8
    he-cli serve --lookups passwords/
"""

import collections
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator

HASHED = re.compile(rb"([0-9A-Fa-f]{40}):([0-9]{1,8})")
DIGITS = 20


def counted(lines: Iterable[bytes]) -> Iterator[tuple[str, int]]:
    """The key of each line, and how often it counts."""
    for line in lines:
        line = line.rstrip(b"\r\n")
        hashed = HASHED.fullmatch(line)
        if hashed:
            yield hashed[1].decode().upper()[:DIGITS], int(hashed[2])
        elif line:
            yield hashlib.sha1(line).hexdigest().upper()[:DIGITS], 1


def main() -> None:
    counts: collections.Counter[str] = collections.Counter()
    files = [open(path, "rb") for path in sys.argv[1:]] or [sys.stdin.buffer]
    for file in files:
        for key, count in counted(file):
            counts[key] += count
    for key, count in counts.items():
        print(f"{key}\t{min(count, 99_999_999)}")


if __name__ == "__main__":
    main()

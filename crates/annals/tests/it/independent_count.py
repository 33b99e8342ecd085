"""Counts entry types of transcripts with Python's own JSON parser: a second opinion on `annals stats`.

usage: independent_count.py FILE..   prints one JSON object per file: {"path", "lines", "types", "blocks"}
"""

import collections
import json
import re
import sys

decoder = json.JSONDecoder(strict=True)


def objects(line):
    """Returns the objects on a line: one, or several glued together, with or without NUL bytes before them."""
    found = []
    at = 0
    while True:
        while at < len(line) and line[at] in " \t\r\n\0":
            at += 1
        if at == len(line):
            return found
        try:
            value, at = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):
            # Behind a torn or headless object, a whole entry may still run to the end of the line.
            for start in (match.start() for match in re.finditer(r'\{"', line[at + 1 :])):
                try:
                    value, end = decoder.raw_decode(line, at + 1 + start)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict) and is_entry(value) and line[end:].strip(" \t\r\0") == "":
                    return found + [value]
            return found
        if isinstance(value, dict):
            found.append(value)


def spans(lines):
    """Returns the lines, those that one object spans as one."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.lstrip(" \t\r").startswith("{") and not is_whole(line):
            rest = "\n".join(lines[at:])
            try:
                _, end = decoder.raw_decode(rest, len(rest) - len(rest.lstrip(" \t\r")))
                count = rest.count("\n", 0, end) + 1
            except (ValueError, RecursionError):
                count = 1
            yield "\n".join(lines[at : at + count])
            at += count
        else:
            yield line
            at += 1


def is_whole(line):
    try:
        decoder.raw_decode(line, len(line) - len(line.lstrip(" \t\r")))
        return True
    except (ValueError, RecursionError):
        return False


MESSAGES = {"user", "assistant", "system", "attachment", "progress"}


def is_entry(value):
    """Tells entries from objects inside entries, copied messages among them."""
    if value.get("type") in MESSAGES:
        return "uuid" in value and ("parentUuid" in value or "sessionId" in value)
    return value.get("type") == "file-history-snapshot" or "sessionId" in value and "type" in value


def entries_of(path):
    """Returns the number of lines of a file, and its entries."""
    with open(path, "rb") as file:
        data = file.read()
    lines = data.split(b"\n")
    number = len(lines) - (lines[-1] == b"")
    if data.startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
    spanned = spans([line.decode("utf-8", "replace") for line in lines])
    return number, [objects(line) for line in spanned]


def count(path):
    types, blocks = collections.Counter(), collections.Counter()
    number, lines = entries_of(path)
    for entries in lines:
        for entry in entries:
            kind = entry.get("type")
            types[kind if isinstance(kind, str) else "(none)"] += 1
            message = entry.get("message")
            content = message.get("content") if isinstance(message, dict) else message
            if kind in ("user", "assistant") and isinstance(content, list):
                for block in content:
                    name = block.get("type") if isinstance(block, dict) else None
                    blocks[name if isinstance(name, str) else "(none)"] += 1
    return {"path": path, "lines": number, "types": dict(types), "blocks": dict(blocks)}


sys.setrecursionlimit(20_000)
if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps(count(path)))

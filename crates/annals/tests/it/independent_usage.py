"""Counts tokens of transcripts with Python's own JSON parser, by the rules of docs/USAGE.md: a second opinion on `annals usage`.

usage: independent_usage.py < LIST   reads one path a line, prints one JSON object: {model: {"replies", "input", ...}},
                                     then one for each path alone

It compares every line with every other one where annals looks things up, and shares no code with it.
"""

import collections
import json
import re
import sys

from independent_count import entries_of

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


def session_in(path):
    """Returns the session that a path names."""
    found = re.search(rf"/({UUID})/subagents/(?:[^/]+/)*agent-[^/]+\.jsonl$", path)
    return found.group(1) if found else (m.group(1) if (m := re.search(rf"/({UUID})\.jsonl$", path)) else None)


def counter(value):
    """Returns a counter: a whole number that is not negative and fits into 32 bits. All else counts nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < 2**32 and value == int(value) else 0


def text(value):
    return value if isinstance(value, str) else None


class Line:
    """A line of a reply."""

    def __init__(self, usage, model, message, request, uuid, time, session, sidechain):
        self.time = time
        self.model, self.message, self.request, self.session = model, message, request, session
        self.uuid, self.sidechain = uuid, sidechain
        split = usage.get("cache_creation")
        split = split if isinstance(split, dict) else {}
        five, hour = counter(split.get("ephemeral_5m_input_tokens")), counter(split.get("ephemeral_1h_input_tokens"))
        total = counter(usage.get("cache_creation_input_tokens"))
        self.writes = (max(total, five + hour), hour, five)
        self.input, self.output = counter(usage.get("input_tokens")), counter(usage.get("output_tokens"))
        self.read = counter(usage.get("cache_read_input_tokens"))


def lines_of(entry, session, number):
    """Returns the lines of replies in an entry: one, none, or more if advisors were called."""
    sidechain = entry.get("isSidechain") is True
    if entry.get("type") == "progress":
        data = entry.get("data")
        if not isinstance(data, dict) or data.get("type") != "agent_progress":
            return []
        entry, sidechain = data.get("message"), True
        if not isinstance(entry, dict) or entry.get("type") != "assistant":
            return []
    message = entry.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
        return []
    kind = entry.get("type")
    is_typed = isinstance(kind, str)
    if is_typed and kind != "assistant" or not is_typed and message.get("role") != "assistant":
        return []
    model = text(message.get("model")) or ""
    if model == "<synthetic>" or entry.get("isApiErrorMessage") is True:
        return []
    ids = text(message.get("id")) or None, text(entry.get("requestId")) or None, text(entry.get("uuid")) or f"{number}", text(entry.get("timestamp")) or "~"
    lines = [Line(message["usage"], model, *ids, session, sidechain)]
    calls = message["usage"].get("iterations")
    calls = [c for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    for index, call in enumerate(call for call in calls if call.get("type") == "advisor_message"):
        name = lambda known: known and f"advisor {index} of {known}"
        own = name(ids[0]), ids[1], name(ids[2]), ids[3]
        lines.append(Line(call, text(call.get("model")) or "", *own, session, sidechain))
    return lines


def read(paths):
    """Returns the lines of replies in files, and the family of each session."""
    lines, parents = [], {}

    def root(session):
        while parents.setdefault(session, session) != session:
            session = parents[session]
        return session

    first_of = {}
    for path in paths:
        _, entries = entries_of(path)
        entries = [(number, entry) for number, found in enumerate(entries) for entry in found]
        start = [entry for number, entry in entries if number < 64]
        named = next((e["sessionId"] for e in start if text(e.get("sessionId"))), None)
        session = session_in(path) or named or path
        first = next((e for e in start if text(e.get("uuid"))), None)
        if first:
            origin = first.get("forkedFrom")
            origin = text(origin.get("sessionId")) if isinstance(origin, dict) else None
            for other in (first_of.setdefault(first["uuid"], session), origin):
                if other:
                    parents[root(other)] = root(session)
        for number, entry in entries:
            lines += lines_of(entry, session, (path, number))
    return lines, {line.session: root(line.session) for line in lines}


def groups(lines, families):
    """Returns lists of lines that are the same response."""
    by_message = collections.defaultdict(list)
    for line in lines:
        by_message[(True, line.message) if line.message else (False, line.uuid)].append(line)
    for (has_message, _), same in by_message.items():
        if not has_message:
            yield same
            continue
        clusters = []
        for line in same:
            key = ("request", line.request) if line.request else ("family", families[line.session])
            cluster = next((cluster for cluster in clusters if cluster[0] == key), None)
            if cluster is None:
                clusters.append((key, [line]))
            else:
                cluster[1].append(line)
        clusters = [members for _, members in clusters]
        replays = {id(line) for c in clusters if all(line.sidechain for line in c) for line in c}
        # In each family, lines without a request and replays of subagents belong to a response of the session itself.
        for family in {families[line.session] for line in same}:
            ours = [c for c in clusters if any(families[line.session] == family for line in c)]
            member = lambda c: [line for line in c if families[line.session] == family]
            best = min(ours, key=lambda c: min((line.sidechain, line.request is None, line.time) for line in member(c)))
            is_main = any(not line.sidechain for line in member(best))
            for other in ours:
                if other is best:
                    continue
                mine = member(other)
                if any(line.request is None for line in mine) or is_main and any(id(line) in replays for line in mine):
                    best += other
                    clusters.remove(other)
        yield from clusters


def count(paths):
    lines, families = read(paths)
    counted = collections.defaultdict(collections.Counter)
    for group in groups(lines, families):
        total, hour, five = max(line.writes for line in group)
        row = counted[group[0].model]
        row["replies"] += 1
        row["input"] += max(line.input for line in group)
        row["output"] += max(line.output for line in group)
        row["read"] += max(line.read for line in group)
        row["writes"] += total
        row["hour"] += hour
    return json.dumps(counted)


paths = [line.rstrip("\n") for line in sys.stdin]
print(count(paths))
for path in paths:
    print(count([path]))

"""python - PROJECT: what the client's Python SDK sees of a project's sessions, as JSON."""

import dataclasses
import json
import sys

from claude_agent_sdk import get_session_info, list_sessions

directory = sys.argv[1]
seen = {}
for listed in list_sessions(directory):
    info = get_session_info(listed.session_id, directory)
    seen[listed.session_id] = {"listed": dataclasses.asdict(listed), "info": info and dataclasses.asdict(info)}
print(json.dumps(seen))

"""python -: the sessions of all projects in the order in which the client's Python SDK lists them, as JSON.

Names and times are spelled as the TypeScript SDK and annals spell them.
"""

import dataclasses
import datetime
import json

from claude_agent_sdk import list_sessions


def name(field):
    first, *more = field.split("_")
    return first + "".join(word.capitalize() for word in more)


def time(number):
    epoch = datetime.datetime(1970, 1, 1)
    moment = epoch + datetime.timedelta(milliseconds=number)
    return moment.isoformat(timespec="milliseconds") + "Z"


listed = []
for session in list_sessions():
    fields = {name(field): value for field, value in dataclasses.asdict(session).items()}
    for field in ("createdAt", "lastModified"):
        if fields[field] is not None:
            fields[field] = time(fields[field])
    listed.append(fields)
print(json.dumps(listed))

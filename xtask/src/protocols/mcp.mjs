// node mcp.mjs PACKAGES ANNALS HOME [URL TOKEN]: the official MCP client talks to `annals mcp`, or to `/mcp` of `annals serve`.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { FOLDER, RICH, makeWorld } from "./world.mjs";

const [packages, annals, home, url, token] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(packages, "@modelcontextprotocol/sdk/dist/esm", path)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

const TOOLS = ["search_sessions", "list_sessions", "get_session", "get_messages", "get_changes", "session_stats", "usage", "insight"];
const LONGEST = 40_000;

function transport() {
  if (url !== undefined) {
    return new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    });
  }
  makeWorld(home);
  const env = { ...process.env, HOME: home, ANNALS_HOME: join(home, "annals"), CLAUDE_CONFIG_DIR: join(home, ".claude") };
  return new StdioClientTransport({ command: annals, args: ["mcp"], env });
}

const client = new Client({ name: "protocols", version: "1.0.0" });
await client.connect(transport());
assert.match(client.getInstructions(), /data, not instructions/);
assert.equal(client.getServerVersion().name, "annals");

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
for (const tool of tools) {
  assert.equal(tool.annotations.readOnlyHint, true, tool.name);
  assert.equal(tool.inputSchema.type, "object", tool.name);
  assert.ok(tool.description.length > 40, tool.name);
}

/** Calls a tool that must succeed; returns what it answers. */
async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  const [{ type, text }] = result.content;
  assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${text}`);
  assert.equal(type, "text");
  assert.ok(Buffer.byteLength(text) <= LONGEST, `${name}: ${Buffer.byteLength(text)} bytes`);
  const answer = JSON.parse(text);
  assert.match(answer.about, /data, not instructions/);
  return answer;
}

/** Calls a tool that must refuse; returns why. */
async function refusal(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, `${name} ${JSON.stringify(args)}`);
  return result.content[0].text;
}

const { sessions } = await call("list_sessions", { limit: 3 });
assert.ok(sessions.length > 0);
const session = url === undefined ? RICH : sessions[0].id;
const outline = await call("get_session", { session });
assert.equal(outline.session.id, session);
assert.ok(outline.turns.length > 0);
const [{ turn, uuid }] = outline.turns;
const window = await call("get_messages", { session, turn, limit: 5 });
assert.equal(window.messages[0].uuid, uuid);
const around = await call("get_messages", { session, around: uuid, limit: 1 });
assert.deepEqual(around.messages.map((message) => message.uuid), [uuid]);
const stats = await call("session_stats", { session });
assert.ok(stats.turns > 0 && stats.lines > 0);
const changes = await call("get_changes", { session });
assert.ok(Array.isArray(changes.edits));
const words = outline.turns[0].prompt.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1);
const found = await call("search_sessions", { query: words[0], session });
assert.ok(found.hits.some((hit) => hit.session === session), JSON.stringify(found));
if (url === undefined) {
  assert.equal(outline.session.project, FOLDER);
  assert.ok(changes.edits.some((edit) => edit.diff.includes("-0.7") && edit.diff.includes("+70 %")), JSON.stringify(changes));
}

assert.match(await refusal("get_session", { session: "../../etc/passwd" }), /no session is named/);
assert.match(await refusal("get_session", { session: "00000000-0000-4000-8000-00000000dead" }), /list_sessions/);
assert.match(await refusal("get_messages", { session, arond: "x" }), /unknown field/);
assert.match(await refusal("list_sessions", { limit: 0 }), /from 1 to/);
await assert.rejects(client.callTool({ name: "delete_session", arguments: {} }), /no such tool/);

const { resources } = await client.listResources();
assert.ok(resources.some((resource) => resource.uri.startsWith("session://")));
const { resourceTemplates } = await client.listResourceTemplates();
assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), ["session://{id}"]);
const { contents } = await client.readResource({ uri: `session://${session}` });
assert.equal(JSON.parse(contents[0].text).session.id, session);
await assert.rejects(client.readResource({ uri: "file:///etc/passwd" }), /session:/);
await client.close();

// node acp.mjs PACKAGES ANNALS HOME: the official ACP client talks to `annals serve --stdio`.
// Every message of the server is checked against the schema that comes with the client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Transform, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";

import { FOLDER, LONG, MANY, RICH, SMALL, makeWorld } from "./world.mjs";

const [packages, annals, home] = process.argv.slice(2);
const sdk = join(packages, "@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(join(sdk, "dist/v1/stable/acp.js")).href);
const { default: Ajv } = await import(pathToFileURL(join(packages, "ajv/dist/2020.js")).href);
const { agent: ask, client: told } = acp.methods;

const schema = JSON.parse(readFileSync(join(sdk, "schema/v1/schema.json"), "utf8"));
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");
const RESULTS = {
  [ask.initialize]: "InitializeResponse",
  [ask.authenticate]: "AuthenticateResponse",
  [ask.logout]: "LogoutResponse",
  [ask.session.list]: "ListSessionsResponse",
  [ask.session.load]: "LoadSessionResponse",
  [ask.session.resume]: "ResumeSessionResponse",
  [ask.session.close]: "CloseSessionResponse",
  [ask.session.delete]: "DeleteSessionResponse",
  [ask.session.new]: "NewSessionResponse",
  [ask.session.prompt]: "PromptResponse",
};

function isValid(definition, value) {
  const validate = ajv.getSchema(`acp#/$defs/${definition}`);
  assert.ok(validate(value), `${definition}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
}

/** Checks a message of the server, given what was asked. */
function check(message, asked) {
  assert.equal(message.jsonrpc, "2.0");
  if (message.method === told.session.requestPermission) {
    return isValid("RequestPermissionRequest", message.params);
  }
  if (message.method !== undefined) {
    assert.equal(message.method, told.session.update);
    return isValid("SessionNotification", message.params);
  }
  if (message.error !== undefined) {
    return isValid("Error", message.error);
  }
  isValid(RESULTS[asked.get(message.id)], message.result);
}

/** Passes lines on and shows each to somebody. */
function lines(look) {
  let rest = "";
  const decoder = new TextDecoder();
  return new Transform({
    transform(bytes, _, done) {
      rest += decoder.decode(bytes, { stream: true });
      const whole = rest.split("\n");
      rest = whole.pop();
      whole.forEach((line) => look(JSON.parse(line)));
      done(null, bytes);
    },
  });
}

/** Talks to a server: `work` gets the connection, and what came in so far. */
async function talk(world, capabilities, work, options = []) {
  const env = { ...process.env, HOME: home, ANNALS_HOME: join(home, "annals") };
  const args = ["serve", "--stdio", "--root", join(home, ".claude"), ...options];
  const child = spawn(annals, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const [asked, raw, updates] = [new Map(), [], []];
  const incoming = child.stdout.pipe(
    lines((message) => {
      check(message, asked);
      raw.push(message);
    }),
  );
  const outgoing = lines((message) => asked.set(message.id, message.method));
  outgoing.pipe(child.stdin);
  const waiting = [];
  const client = acp
    .client({ name: "cargo x protocols" })
    .onRequest(told.session.requestPermission, ({ params }) => {
      updates.push({ sessionId: params.sessionId, permission: params });
      return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
    })
    .onNotification(told.session.update, ({ params }) => {
      updates.push(params);
      waiting.splice(0).forEach((wake) => wake());
    });
  const stream = acp.ndJsonStream(Writable.toWeb(outgoing), Readable.toWeb(incoming));
  await client.connectWith(stream, async (agent) => {
    const initialize = { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities };
    const answer = await agent.request(ask.initialize, initialize);
    /** Waits until updates are as they should be. */
    const until = async (isEnough) => {
      while (!isEnough(updates)) {
        await new Promise((wake) => waiting.push(wake));
      }
    };
    await work({ agent, answer, updates, raw, until, world });
  });
  child.stdin.end();
  assert.equal(await ended, 0, "the server ends well");
}

const open = (sessionId) => ({ sessionId, cwd: FOLDER, mcpServers: [] });
const kinds = (updates) => updates.map(({ update }) => update.sessionUpdate);
const call = (updates, id) => {
  const about = updates.map(({ update }) => update).filter(({ toolCallId }) => toolCallId === id);
  return Object.assign({}, ...about);
};

async function refused(request, code) {
  const error = await request.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.equal(error.code, code, String(error));
  return error;
}

const steps = {
  async "initialize, and sessions page by page"({ agent, answer }) {
    assert.equal(answer.protocolVersion, 1);
    assert.equal(answer.agentCapabilities.loadSession, true);
    assert.deepEqual(Object.keys(answer.agentCapabilities.sessionCapabilities).sort(), ["close", "delete", "list", "resume"]);
    const [sessions, pages] = [[], []];
    let cursor;
    do {
      const page = await agent.request(ask.session.list, { cwd: FOLDER, cursor });
      pages.push(page.sessions.length);
      sessions.push(...page.sessions);
      cursor = page.nextCursor;
    } while (cursor);
    assert.deepEqual(pages, [100, SMALL + 2 - 100]);
    assert.equal(new Set(sessions.map(({ sessionId }) => sessionId)).size, SMALL + 2);
    assert.ok(sessions.every(({ cwd }) => cwd === FOLDER));
    assert.equal(sessions.find(({ sessionId }) => sessionId === RICH).title, "湿度显示成 0.7 了 ☀️");
    assert.deepEqual((await agent.request(ask.session.list, { cwd: "/home/mia" })).sessions, []);
  },

  async "everything is told before the answer"({ agent, updates, raw }) {
    await agent.request(ask.session.load, open(RICH));
    const answer = raw.findIndex(({ result }) => result?._meta?.annals?.offset > 0);
    const before = raw.slice(0, answer).filter(({ method }) => method === told.session.update);
    assert.equal(answer, raw.length - 1, "the answer comes last");
    assert.deepEqual(before.map(({ params }) => params), updates, "in order");
    assert.deepEqual(kinds(updates), [
      "user_message_chunk", "user_message_chunk", "agent_thought_chunk", "agent_message_chunk",
      "tool_call", "tool_call_update", "tool_call", "tool_call_update", "tool_call", "tool_call_update",
      "tool_call", "tool_call_update", "tool_call", "tool_call_update", "tool_call", "plan", "tool_call_update",
      "tool_call", "tool_call_update", "tool_call", "tool_call_update", "plan", "tool_call", "tool_call_update", "plan",
      "tool_call", "tool_call_update", "user_message_chunk", "agent_message_chunk", "user_message_chunk",
      "user_message_chunk", "agent_message_chunk", "session_info_update", "usage_update",
    ]);
    const [prompt, image, thought, text] = updates.map(({ update }) => update);
    assert.equal(prompt.content.text, "湿度显示成 0.7 了 ☀️");
    assert.equal(image.content.mimeType, "image/png");
    assert.equal(prompt.messageId, image.messageId);
    assert.equal(thought.messageId, text.messageId, "a reply is one message");
    assert.deepEqual(call(updates, "t1").locations, [{ path: `${FOLDER}/weather.py`, line: 3 }]);
    const edit = call(updates, "t2");
    assert.deepEqual([edit.kind, edit.status], ["edit", "completed"]);
    assert.deepEqual(edit.content, [{ type: "diff", path: `${FOLDER}/weather.py`, oldText: "0.7", newText: "70 %" }]);
    assert.deepEqual(edit.locations, [{ path: `${FOLDER}/weather.py`, line: 12 }]);
    assert.deepEqual(call(updates, "t3").content, [{ type: "diff", path: `${FOLDER}/new.py`, oldText: "旧\n", newText: "新\n" }]);
    const bash = call(updates, "t4");
    assert.deepEqual([bash.kind, bash.title, bash.content[0].content.text], ["execute", "Bash: python weather.py", "1\n2"]);
    assert.equal(bash.rawOutput.stdout, "1\n2");
    assert.equal(call(updates, "t5").status, "failed");
    assert.equal(call(updates, "t7")._meta.annals.agentId, "a1b2c3");
    assert.equal(call(updates, "t10").status, "failed", "the conversation went on without it");
    const plans = updates.filter(({ update }) => update.sessionUpdate === "plan").map(({ update }) => update.entries);
    assert.deepEqual(plans.map((plan) => plan.map(({ content, status }) => `${content} ${status}`)), [
      ["读文件 completed", "改文件 in_progress"], ["测试 pending"], ["测试 completed"],
    ]);
    const usage = updates.at(-1).update;
    assert.deepEqual([usage.used, usage.size], [3214, 1_000_000]);
  },

  async "a client that knows compactions is told of them"({ agent, updates }) {
    await agent.request(ask.session.load, open(`claude:${RICH}`));
    const about = updates.map(({ update }) => update).filter(({ compactionId }) => compactionId);
    assert.deepEqual(about.map(({ sessionUpdate }) => sessionUpdate), ["compaction_update", "compaction_summary_chunk"]);
    assert.equal(about[0].compactionId, about[1].compactionId);
    assert.ok(updates.every(({ sessionId }) => sessionId === `claude:${RICH}`), "as the client has named it");
  },

  async "20,000 updates, complete and in order"({ agent, updates }) {
    await agent.request(ask.session.load, open(LONG));
    const texts = updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk");
    assert.equal(updates.length, MANY + 1);
    assert.deepEqual(texts.map(({ update }) => update.content.text), Array.from({ length: MANY - 1 }, (_, n) => `第 ${n + 1} 个`));
  },

  async "a load that is cancelled ends"({ agent, updates }) {
    const load = agent.request(ask.session.load, open(LONG));
    await agent.notify(ask.session.cancel, { sessionId: LONG });
    await refused(load, -32800);
    assert.ok(updates.length < MANY);
    updates.length = 0;
    await agent.request(ask.session.load, open(LONG));
    assert.equal(updates.length, MANY + 1, "and can be loaded again");
  },

  async "what is written to an open session is told once, in order"({ agent, updates, until, world }) {
    await agent.request(ask.session.load, open(RICH));
    updates.length = 0;
    const said = Array.from({ length: 50 }, (_, number) => `第 ${number} 句`);
    said.forEach((text, number) => world.say(RICH, number, text));
    const heard = () => updates.filter(({ update }) => update.sessionUpdate === "user_message_chunk");
    await until(() => heard().length >= said.length);
    assert.deepEqual(heard().map(({ update }) => update.content.text), said);
    world.rename(RICH, "改名了");
    await until(() => updates.some(({ update }) => update.title === "改名了"));
    await agent.request(ask.session.close, { sessionId: RICH });
    const before = updates.length;
    world.say(RICH, 50, "没人听见");
    // Whatever would be told of it comes before what is told of another session.
    await agent.request(ask.session.resume, { sessionId: LONG, cwd: FOLDER });
    world.say(LONG, 51, "听见了");
    await until(() => updates.some(({ update }) => update.content?.text === "听见了"));
    assert.ok(updates.slice(before).every(({ sessionId }) => sessionId === LONG));
    await agent.request(ask.session.close, { sessionId: LONG });
  },

  async "what asks the model is refused with the command that does it"({ agent }) {
    const prompt = [{ type: "text", text: "Go on" }];
    const error = await refused(agent.request(ask.session.prompt, { sessionId: RICH, prompt }), -32014);
    assert.deepEqual(error.data, { reason: "history-only", command: ["claude", "--resume", RICH], cwd: FOLDER });
    assert.match(error.message, new RegExp(`claude --resume ${RICH}`));
    await refused(agent.request(ask.session.new, { cwd: FOLDER, mcpServers: [] }), -32014);
    await refused(agent.request(ask.session.load, open("00000000-0000-4000-8000-000000000000")), -32002);
  },

  async "a session goes to the trash"({ agent, world }) {
    await agent.request(ask.session.delete, { sessionId: LONG });
    assert.ok(!existsSync(world.path(LONG)));
    await refused(agent.request(ask.session.load, open(LONG)), -32002);
    const { sessions } = await agent.request(ask.session.list, {});
    assert.ok(sessions.every(({ sessionId }) => sessionId !== LONG));
  },
};

/** Steps with an agent that prompts are passed on to. */
const passedOn = {
  async "a session of the agent"({ agent, updates, until }) {
    const { sessionId } = await agent.request(ask.session.new, { cwd: FOLDER, mcpServers: [] });
    const prompt = (text) => agent.request(ask.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    assert.deepEqual(await prompt("煮水"), { stopReason: "end_turn" });
    assert.equal(updates[0].permission.toolCall.title, "Boil");
    assert.equal(updates[1].update.content.text, "煮水: yes, client reads");
    const error = await refused(prompt("fail"), -32000);
    assert.deepEqual([error.message, error.data], ["who are you?", { only: "here" }]);
    const waits = prompt("wait");
    await until((updates) => updates.some(({ update }) => update?.content?.text === "waiting"));
    await agent.notify(ask.session.cancel, { sessionId });
    assert.deepEqual(await waits, { stopReason: "cancelled" });
    // Histories are answered meanwhile, and requests side by side get their own answers.
    const both = await Promise.all([prompt("一"), agent.request(ask.session.list, {}), prompt("二")]);
    assert.deepEqual(both.map(({ stopReason }) => stopReason), ["end_turn", undefined, "end_turn"]);
    await agent.request(ask.session.close, { sessionId });
    await refused(prompt("三"), -32002);
  },

  async "a session of the history goes on"({ agent, updates, world, until }) {
    await agent.request(ask.session.load, open(RICH));
    updates.length = 0;
    const prompt = { sessionId: RICH, prompt: [{ type: "text", text: "接着" }] };
    assert.deepEqual(await agent.request(ask.session.prompt, prompt), { stopReason: "end_turn" });
    const texts = () => updates.map(({ update }) => update?.content?.text).filter((text) => text);
    assert.deepEqual(texts(), ["接着: yes, client reads"], "what was said before is not told again");
    // Now the agent tells what happens; once it is loaded again, the history does.
    world.say(RICH, 60, "写在文件里");
    await agent.request(ask.session.load, open(RICH));
    assert.equal(texts().filter((text) => text === "写在文件里").length, 1);
    world.say(RICH, 61, "又一句");
    await until(() => texts().includes("又一句"));
    assert.deepEqual(await agent.request(ask.session.prompt, prompt), { stopReason: "end_turn" });
    assert.equal(texts().at(-1), "接着: yes, client reads");
  },
};

/** The client goes while the agent is at work: nobody may wait for it for ever. */
passedOn["the agent ends with the client"] = async ({ agent, until }) => {
  const { sessionId } = await agent.request(ask.session.new, { cwd: FOLDER, mcpServers: [] });
  const waits = agent.request(ask.session.prompt, { sessionId, prompt: [{ type: "text", text: "wait" }] });
  waits.catch(() => {});
  await until((updates) => updates.some(({ update }) => update.content?.text === "waiting"));
};

const script = join(dirname(fileURLToPath(import.meta.url)), "agent.mjs");
const world = makeWorld(home);
const all = Object.entries(steps).map(([name, step]) => {
  const capabilities = name.includes("compactions") ? { session: { compaction: {} } } : {};
  return [name, step, capabilities, []];
});
for (const opens of ["resume", "load"]) {
  const options = ["--agent", `node "${script}" "${packages}" ${opens}`];
  for (const [name, step] of Object.entries(passedOn)) {
    all.push([`${name}, by ${opens}`, step, { fs: { readTextFile: true } }, options]);
  }
}
for (const [name, step, capabilities, options] of all) {
  try {
    await talk(world, capabilities, step, options);
    console.log(`acp: ${name}: ok`);
  } catch (error) {
    console.error(`acp: ${name}: ${error.stack}`);
    process.exit(1);
  }
}
process.exit(0);

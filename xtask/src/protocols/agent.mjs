// node agent.mjs PACKAGES resume|load: a small agent that thinks of nothing, for servers that pass prompts on.
import { Readable, Writable } from "node:stream";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, opens] = process.argv.slice(2);
const acp = await import(pathToFileURL(join(packages, "@agentclientprotocol/sdk/dist/v1/stable/acp.js")).href);
const { agent: ask, client: tell } = acp.methods;
const say = (client, sessionId, text) =>
  client.notify(tell.session.update, {
    sessionId,
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
  });

const opened = new Set();
const stopped = new Map();
let seen;

acp
  .agent({ name: "agent of cargo x protocols" })
  .onRequest(ask.initialize, ({ params }) => {
    seen = params.clientCapabilities;
    const sessionCapabilities = opens === "resume" ? { resume: {}, close: {} } : { close: {} };
    return { protocolVersion: 1, agentCapabilities: { loadSession: opens === "load", sessionCapabilities } };
  })
  .onRequest(ask.session.new, () => {
    opened.add("dddddddd-0000-4000-8000-000000000001");
    return { sessionId: "dddddddd-0000-4000-8000-000000000001" };
  })
  .onRequest(ask.session.load, async ({ params, client }) => {
    await say(client, params.sessionId, "what was said before");
    opened.add(params.sessionId);
    return {};
  })
  .onRequest(ask.session.resume, ({ params }) => {
    opened.add(params.sessionId);
    return {};
  })
  .onRequest(ask.session.close, ({ params }) => {
    opened.delete(params.sessionId);
    return {};
  })
  .onRequest(ask.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    if (!opened.has(sessionId)) {
      throw new acp.RequestError(-32002, "not open");
    }
    const text = prompt[0].text;
    if (text === "fail") {
      throw new acp.RequestError(-32000, "who are you?", { only: "here" });
    }
    if (text === "wait") {
      await say(client, sessionId, "waiting");
      await new Promise((resolve) => stopped.set(sessionId, resolve));
      return { stopReason: "cancelled" };
    }
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const toolCall = { toolCallId: "t1", title: "Boil" };
    const { outcome } = await client.request(tell.session.requestPermission, { sessionId, toolCall, options });
    const can = seen?.fs?.readTextFile ? "reads" : "does not read";
    await say(client, sessionId, `${text}: ${outcome.optionId}, client ${can}`);
    return { stopReason: "end_turn" };
  })
  .onNotification(ask.session.cancel, ({ params }) => stopped.get(params.sessionId)?.())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

// A small home with invented sessions, for clients that are tried on the server.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const FOLDER = "/home/mia/天气";
export const RICH = "aaaaaaaa-0000-4000-8000-000000000001";
export const LONG = "aaaaaaaa-0000-4000-8000-000000000002";
export const SMALL = 130;
export const MANY = 20_000;

/** Writes one session entry by entry: each hangs on the one before. */
class Writer {
  lines = [];
  last = null;
  constructor(session) {
    this.session = session;
  }
  entry(type, more) {
    const number = this.lines.length;
    const uuid = `${this.session.slice(0, 24)}${String(number).padStart(12, "0")}`;
    const timestamp = new Date(Date.UTC(2026, 2, 1) + number * 1000).toISOString();
    const base = { parentUuid: this.last, isSidechain: false, type, uuid, timestamp };
    const context = { cwd: FOLDER, sessionId: this.session, version: "2.1.325", gitBranch: "main" };
    this.lines.push(JSON.stringify({ ...base, ...context, ...more }));
    this.last = uuid;
    return uuid;
  }
  user(content, more = {}) {
    return this.entry("user", { message: { role: "user", content }, ...more });
  }
  reply(id, block, usage) {
    const message = { id, role: "assistant", model: "claude-opus-5-5", content: [block], usage };
    return this.entry("assistant", { message });
  }
  call(reply, id, name, input, result, told) {
    this.reply(reply, { type: "tool_use", id, name, input });
    if (result !== undefined) {
      const block = { type: "tool_result", tool_use_id: id, ...result };
      this.user([block], told === undefined ? {} : { toolUseResult: told });
    }
  }
  text() {
    return this.lines.join("\n") + "\n";
  }
}

/** A session with everything that a client may be told. */
function rich() {
  const write = new Writer(RICH);
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
  write.user([{ type: "text", text: "湿度显示成 0.7 了 ☀️" }, image]);
  write.reply("m1", { type: "thinking", thinking: "先看文件。", signature: "x" });
  write.reply("m1", { type: "text", text: "我看一下。" });
  write.call("m1", "t1", "Read", { file_path: `${FOLDER}/weather.py`, offset: 3 }, { content: "print(1)" });
  const edit = { file_path: `${FOLDER}/weather.py`, old_string: "0.7", new_string: "70 %" };
  const patch = [{ oldStart: 12, oldLines: 1, newStart: 12, newLines: 1, lines: ["-0.7", "+70 %"] }];
  const edited = { filePath: edit.file_path, oldString: "0.7", newString: "70 %", structuredPatch: patch };
  write.call("m2", "t2", "Edit", edit, { content: "The file was updated." }, edited);
  const file = { file_path: `${FOLDER}/new.py`, content: "新\n" };
  const written = { type: "update", filePath: file.file_path, content: "新\n", originalFile: "旧\n", structuredPatch: [] };
  write.call("m3", "t3", "Write", file, { content: "ok" }, written);
  const output = { stdout: "1\n2", stderr: "", interrupted: false };
  write.call("m4", "t4", "Bash", { command: "python weather.py" }, { content: "1\n2" }, output);
  write.call("m5", "t5", "Bash", { command: "false" }, { content: "exit 1", is_error: true }, "Error: exit 1");
  const todos = [
    { content: "读文件", status: "completed", activeForm: "…" },
    { content: "改文件", status: "in_progress", activeForm: "…" },
  ];
  write.call("m6", "t6", "TodoWrite", { todos }, { content: "ok" }, { oldTodos: [], newTodos: todos });
  write.call("m7", "t7", "Agent", { description: "Look", prompt: "Look" }, { content: "Done" }, { agentId: "a1b2c3", content: [] });
  const task = { task: { id: "1", subject: "测试" } };
  write.call("m8", "t8", "TaskCreate", { subject: "测试", description: "x" }, { content: "ok" }, task);
  write.call("m9", "t9", "TaskUpdate", { taskId: "1", status: "completed" }, { content: "ok" }, { success: true, taskId: "1" });
  // A call that the conversation went on without.
  write.call("m10", "t10", "Bash", { command: "sleep 100" });
  write.user("算了");
  const boundary = write.last;
  write.last = null;
  const compacted = { trigger: "auto", preTokens: 180_000 };
  write.entry("system", { subtype: "compact_boundary", logicalParentUuid: boundary, compactMetadata: compacted });
  write.user("This session is being continued from a previous conversation.", { isCompactSummary: true });
  write.user("还有吗？");
  const usage = { input_tokens: 10, cache_creation_input_tokens: 200, cache_read_input_tokens: 3000, output_tokens: 4 };
  write.reply("m11", { type: "text", text: "没有了。" }, usage);
  return write.text();
}

function long() {
  const write = new Writer(LONG);
  write.user("数数");
  for (let number = 1; number < MANY; number++) {
    write.reply(`m${number}`, { type: "text", text: `第 ${number} 个` });
  }
  return write.text();
}

export function makeWorld(home) {
  const project = join(home, ".claude/projects/-home-mia---");
  mkdirSync(project, { recursive: true });
  const path = (session) => join(project, `${session}.jsonl`);
  writeFileSync(path(RICH), rich());
  writeFileSync(path(LONG), long());
  for (let number = 0; number < SMALL; number++) {
    const session = `bbbbbbbb-0000-4000-8000-${String(number).padStart(12, "0")}`;
    const write = new Writer(session);
    write.user(`第 ${number} 次问天气`);
    writeFileSync(path(session), write.text());
  }
  return {
    path,
    /** Appends a prompt to a session, behind nothing in particular. */
    say(session, number, text) {
      const uuid = `cccccccc-0000-4000-8000-${String(number).padStart(12, "0")}`;
      const entry = {
        parentUuid: null, isSidechain: false, type: "user", uuid, timestamp: new Date(Date.UTC(2026, 3, 1) + number).toISOString(),
        cwd: FOLDER, sessionId: session, version: "2.1.325", message: { role: "user", content: text },
      };
      appendFileSync(path(session), `${JSON.stringify(entry)}\n`);
      return uuid;
    },
    rename(session, title) {
      appendFileSync(path(session), `${JSON.stringify({ type: "custom-title", customTitle: title, sessionId: session })}\n`);
    },
  };
}

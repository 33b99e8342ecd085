// node - PACKAGES PROJECT sessions|subagents [SESSION]: what the client's TypeScript SDK sees, as JSON.
const [packages, dir, what, session] = process.argv.slice(2);
const sdk = await import(`${packages}/@anthropic-ai/claude-agent-sdk/sdk.mjs`);

async function sessions() {
  const seen = {};
  for (const listed of await sdk.listSessions({ dir })) {
    const info = await sdk.getSessionInfo(listed.sessionId, { dir });
    seen[listed.sessionId] = { listed, info };
  }
  return seen;
}

async function subagents() {
  const seen = {};
  for (const agent of await sdk.listSubagents(session, { dir })) {
    const messages = await sdk.getSubagentMessages(session, agent, { dir });
    seen[agent] = messages.map((message) => message.type);
  }
  return seen;
}

console.log(JSON.stringify(await { sessions, subagents }[what]()));

// node - PACKAGES: the sessions of all projects in the order in which the client's TypeScript SDK lists them, as JSON.
const sdk = await import(`${process.argv[2]}/@anthropic-ai/claude-agent-sdk/sdk.mjs`);
const time = (number) => (number === undefined ? null : new Date(number).toISOString());

const listed = (await sdk.listSessions()).map((session) => ({
  ...session,
  createdAt: time(session.createdAt),
  lastModified: time(session.lastModified),
}));
console.log(JSON.stringify(listed));

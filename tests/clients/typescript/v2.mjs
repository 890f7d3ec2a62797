// One visit of the official TypeScript SDK of the second generation: the job of v1.mjs with a
// "mode": "auto" (2026-07-28) or "legacy" (2025-11-25).
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Person } from "./signing.mjs";

const { target, calls, look, mode, home } = JSON.parse(process.argv[2]);
const person = target.person && new Person(home);
await person?.listen();
let client, way;
await connect();
const revision = client.getNegotiatedProtocolVersion();
const answers = [];
for (const [name, given] of calls) answers.push(await called(name, given));
const tools = look ? (await client.listTools()).tools.map((tool) => tool.name) : [];
const resources = look ? (await client.listResources()).resources.map((resource) => resource.uri) : [];
const read = look ? await client.readResource({ uri: resources[0] }) : "";
await client.close();
person?.close();
console.log(JSON.stringify({ revision, tools, resources, read, answers }));

async function connect() {
  client = new Client({ name: "typescript-v2", version: "1" }, { versionNegotiation: { mode } });
  way = transport(target);
  try {
    await client.connect(way);
  } catch (error) {
    if (!(person && error instanceof UnauthorizedError)) throw error;
    await way.finishAuth(await person.answer());
    await connect();
  }
}

async function called(name, given) {
  try {
    return await client.callTool({ name, arguments: given });
  } catch (error) {
    if (!person) throw error;
    if (!(error instanceof UnauthorizedError)) return `${error.name}: ${error.message}`;
    await way.finishAuth(await person.answer());
    return await client.callTool({ name, arguments: given });
  }
}

function transport({ url, key, command }) {
  const entering = person ? { authProvider: person } : { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
  return url
    ? new StreamableHTTPClientTransport(new URL(url), entering)
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "inherit" });
}

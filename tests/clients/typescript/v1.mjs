// One visit of the official TypeScript SDK of the first generation (2025-11-25): `node v1.mjs '{"target", "calls", "look"}'`.
// The target is {"url", "key"}, {"url", "person"} to sign in as, or {"command": [program, ...arguments]}; what it saw is
// printed as JSON. What it keeps of a person lies in "home".
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Person } from "./signing.mjs";

const { target, calls, look, home } = JSON.parse(process.argv[2]);
const person = target.person && new Person(home);
await person?.listen();
let revision, client, way;
await connect();
const answers = [];
for (const [name, given] of calls) answers.push(await called(name, given));
const tools = look ? (await client.listTools()).tools.map((tool) => tool.name) : [];
const resources = look ? (await client.listResources()).resources.map((resource) => resource.uri) : [];
const read = look ? await client.readResource({ uri: resources[0] }) : "";
await client.close();
person?.close();
console.log(JSON.stringify({ revision, tools, resources, read, answers }));

async function connect() {
  client = new Client({ name: "typescript-v1", version: "1" });
  way = transport(target);
  try {
    await client.connect(way);
  } catch (error) {
    if (!(person && error instanceof UnauthorizedError)) throw error;
    await way.finishAuth((await person.answer()).get("code"));
    await connect();
  }
}

async function called(name, given) {
  try {
    return await client.callTool({ name, arguments: given });
  } catch (error) {
    if (!person) throw error;
    if (!(error instanceof UnauthorizedError)) return `${error.name}: ${error.message}`;
    await way.finishAuth((await person.answer()).get("code"));
    return await client.callTool({ name, arguments: given });
  }
}

function transport({ url, key, command }) {
  const entering = person ? { authProvider: person } : { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
  const made = url
    ? new StreamableHTTPClientTransport(new URL(url), entering)
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "inherit" });
  const settle = made.setProtocolVersion?.bind(made);
  made.setProtocolVersion = (version) => {
    revision = version;
    settle?.(version);
  };
  return made;
}

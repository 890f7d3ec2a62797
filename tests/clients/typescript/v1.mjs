// One visit of the official TypeScript SDK of the first generation (2025-11-25): `node v1.mjs '{"target", "calls", "look"}'`.
// The target is {"url", "key"} or {"command": [program, ...arguments]}; what it saw is printed as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { target, calls, look } = JSON.parse(process.argv[2]);
let revision;
const client = new Client({ name: "typescript-v1", version: "1" });
await client.connect(transport(target));
const answers = [];
for (const [name, given] of calls) answers.push(await client.callTool({ name, arguments: given }));
const tools = look ? (await client.listTools()).tools.map((tool) => tool.name) : [];
const resources = look ? (await client.listResources()).resources.map((resource) => resource.uri) : [];
const read = look ? await client.readResource({ uri: resources[0] }) : "";
await client.close();
console.log(JSON.stringify({ revision, tools, resources, read, answers }));

function transport({ url, key, command }) {
  const made = url
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } })
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "inherit" });
  const settle = made.setProtocolVersion?.bind(made);
  made.setProtocolVersion = (version) => {
    revision = version;
    settle?.(version);
  };
  return made;
}

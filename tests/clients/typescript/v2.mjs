// One visit of the official TypeScript SDK of the second generation: the job of v1.mjs with a
// "mode": "auto" (2026-07-28) or "legacy" (2025-11-25).
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const { target, calls, look, mode } = JSON.parse(process.argv[2]);
const client = new Client({ name: "typescript-v2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport(target));
const revision = client.getNegotiatedProtocolVersion();
const answers = [];
for (const [name, given] of calls) answers.push(await client.callTool({ name, arguments: given }));
const tools = look ? (await client.listTools()).tools.map((tool) => tool.name) : [];
const resources = look ? (await client.listResources()).resources.map((resource) => resource.uri) : [];
const read = look ? await client.readResource({ uri: resources[0] }) : "";
await client.close();
console.log(JSON.stringify({ revision, tools, resources, read, answers }));

function transport({ url, key, command }) {
  return url
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } })
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: "inherit" });
}

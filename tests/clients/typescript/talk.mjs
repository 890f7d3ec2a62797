// One connection of the official TypeScript SDK of the second generation that goes on as long as it is talked to: a line
// [tool, arguments] on standard input, its result as a line on standard output. It ends with the input.
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { url, key } = JSON.parse(process.argv[2]);
const client = new Client({ name: "typescript-v2", version: "1" }, { versionNegotiation: { mode: "auto" } });
const entering = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
await client.connect(new StreamableHTTPClientTransport(new URL(url), entering));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  console.log(JSON.stringify(await client.callTool({ name, arguments: given })));
}
await client.close();

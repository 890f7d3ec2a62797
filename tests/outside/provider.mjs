// A real OpenID provider on a loopback port: `node provider.mjs REDIRECT_URI`. Prints its issuer once it listens.
// Its own sign-in page takes any name; whoever signs in has that name as their subject.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const from = createRequire(new URL("../clients/package.json", import.meta.url));
const { Provider } = await import(from.resolve("oidc-provider"));

const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "archivist", client_secret: "a secret for tests", redirect_uris: [process.argv[2]] }],
  features: { devInteractions: { enabled: true } },
  pkce: { required: () => true },
});
server.on("request", provider.callback());
console.log(issuer);

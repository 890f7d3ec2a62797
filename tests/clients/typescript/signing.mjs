// An app that signs its person in, for both generations of the SDK: it opens the browser, waits for the answer, and
// keeps its registration and its tokens in a file of its home.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";

export class Person {
  #file;
  #kept = {};
  #server = createServer();
  #answer;

  constructor(home) {
    this.#file = `${home}/typescript.json`;
    try {
      this.#kept = JSON.parse(readFileSync(this.#file));
    } catch {
      // the first visit
    }
  }

  async listen() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#answer = new Promise((found) => {
      this.#server.on("request", (request, response) => {
        response.end("You can close this window.");
        found(new URL(request.url, this.redirectUrl).searchParams);
      });
    });
  }

  /** The parameters with which the browser comes back. */
  answer() {
    return this.#answer;
  }

  close() {
    this.#server.close();
  }

  get redirectUrl() {
    return `http://127.0.0.1:${this.#server.address().port}/callback`;
  }

  get clientMetadata() {
    return {
      client_name: "TypeScript SDK",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  clientInformation() {
    return this.#kept.client;
  }

  saveClientInformation(client) {
    this.#keep({ client });
  }

  tokens() {
    return this.#kept.tokens;
  }

  saveTokens(tokens) {
    this.#keep({ tokens });
  }

  codeVerifier() {
    return this.#kept.verifier;
  }

  saveCodeVerifier(verifier) {
    this.#keep({ verifier });
  }

  state() {
    return "as it was";
  }

  redirectToAuthorization(address) {
    spawn("xdg-open", [address.href], { stdio: "ignore" });
  }

  #keep(more) {
    Object.assign(this.#kept, more);
    writeFileSync(this.#file, JSON.stringify(this.#kept));
  }
}

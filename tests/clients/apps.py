"""The apps that people connect by signing in, and what each is known to do."""

from dataclasses import dataclass

from tests.clients.claude_code import claude_code
from tests.clients.codex import codex
from tests.clients.inspector import inspector
from tests.clients.sdks import fastmcp, mcp_remote, python, typescript
from tests.clients.visits import Visitor


@dataclass(frozen=True, slots=True)
class App:
    """An app.

    name: what it calls itself. document: the address of its document, by which it is known where servers can fetch it.
    says: what it tells its person or model if it lacks a right and does not ask for more by itself. knocks: whether it
    asks for something before it signs in.
    """

    visit: Visitor
    name: str
    document: str = ""
    says: str = ""
    knocks: bool = True


APPS = {
    "python": App(python("auto"), "Python SDK"),
    "fastmcp": App(fastmcp, "FastMCP Client"),
    "typescript v1": App(typescript("v1.mjs", "legacy"), "TypeScript SDK", says="403 after trying upscoping"),
    "typescript v2": App(typescript("v2.mjs", "auto"), "TypeScript SDK"),
    "inspector": App(inspector("auto"), "MCP Inspector", says="auth() returned AUTHORIZED without authorization code"),
    "mcp-remote": App(mcp_remote("auto"), "MCP CLI Proxy"),
    "claude code": App(
        claude_code,
        "Claude Code",
        "https://claude.ai/oauth/claude-code-client-metadata",
        'needs additional permissions (scope: \\"memories:read memories:write\\")',
        knocks=False,
    ),
    "codex": App(codex, "Codex", "https://chatgpt.com/oauth/codex/client.json", "Insufficient scope"),
}

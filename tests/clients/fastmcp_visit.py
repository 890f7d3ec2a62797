"""One visit of FastMCP's client: `python -m tests.clients.fastmcp_visit JOB`, a job like that of typescript/v1.mjs.

`Client(url, auth=OAuth(...))` opens the browser by itself, before it listens, and keeps tokens and their expiry in a
store that the program chooses. later: how many seconds this program's clock is ahead. What it saw is printed as JSON.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.auth import OAuth
from key_value.aio.stores.filetree import FileTreeStore, FileTreeV1KeySanitizationStrategy


async def main(job: dict[str, Any]) -> dict[str, Any]:
    """What the client saw."""
    url, look = job["target"]["url"], job["look"]
    async with Client(url, auth=OAuth(url, token_storage=kept(Path(job["home"]) / "fastmcp"))) as client:
        answers = [(await client.call_tool_mcp(name, given)).model_dump_json() for name, given in job["calls"]]
        resources = [str(resource.uri) for resource in await client.list_resources()] if look else []
        return {
            "revision": client.protocol_version,
            "answers": answers,
            "tools": [tool.name for tool in await client.list_tools()] if look else [],
            "resources": resources,
            "read": str(await client.read_resource(resources[0])) if look else "",
        }


def kept(folder: Path) -> FileTreeStore:
    """A store of plain files; its keys are addresses, and must become names of files."""
    folder.mkdir(exist_ok=True)
    return FileTreeStore(data_directory=folder, key_sanitization_strategy=FileTreeV1KeySanitizationStrategy(folder))


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    real = time.time
    time.time = lambda: real() + asked["later"]
    sys.stdout.write(json.dumps(asyncio.run(main(asked))))

"""The official Python client against the entry, in both eras, in process."""

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.faces.mcp.talking import HERE, door

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_the_official_client_lists_calls_and_reads(mode, version):
    headers = {"authorization": "Bearer all"}
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=door()), headers=headers) as http,
        Client(streamable_http_client(f"{HERE}/mcp", http_client=http), mode=mode) as client,
    ):
        assert client.session.protocol_version == version
        assert "test_simple_text" in [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("test_simple_text", {})
        assert result.content[0].text == "This is a simple text response for testing."
        read = await client.read_resource("test://static-text")
        assert read.contents[0].text == "This is the content of the static text resource."

"""PyPI's `mcp`, in a process of its own: the two versions that the tests use, one of each era, cannot be imported
together.

Arguments: URL, key, and the era to speak: `auto`, `2026-07-28` or `legacy`. Reads one JSON object a line from standard
input (`list`, or `tool` with `arguments`), and writes one a line: first what was agreed on, then what came of each."""

import asyncio
import contextlib
import json
import sys

with contextlib.suppress(ImportError):
    from mcp.client import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def current(url, key, mode, stack):
    http = await stack.enter_async_context(create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}))
    client = await stack.enter_async_context(Client(streamable_http_client(url, http_client=http), mode=mode))
    return client, {
        "version": client.session.protocol_version,
        "server": plain(client.session.server_info) if client.session.server_info else None,
        "instructions": client.session.instructions,
        "modern": client.session.discover_result is not None,
    }


async def legacy(url, key, stack):
    http = await stack.enter_async_context(create_mcp_http_client(headers={"Authorization": f"Bearer {key}"}))
    read, write, _ = await stack.enter_async_context(streamable_http_client(url, http_client=http))
    session = await stack.enter_async_context(ClientSession(read, write))
    agreed = await session.initialize()
    return session, {
        "version": agreed.protocolVersion,
        "server": plain(agreed.serverInfo),
        "instructions": agreed.instructions,
        "modern": False,
    }


async def answer(client, asked):
    if "list" in asked:
        return plain(await client.list_tools())
    return plain(await client.call_tool(asked["tool"], asked.get("arguments", {})))


async def main(url, key, mode):
    async with contextlib.AsyncExitStack() as stack:
        begin = current(url, key, mode, stack) if "Client" in globals() else legacy(url, key, stack)
        client, agreed = await begin
        print(json.dumps(agreed), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                told = await answer(client, json.loads(line))
            except Exception as error:
                told = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(told), flush=True)


asyncio.run(main(*sys.argv[1:]))

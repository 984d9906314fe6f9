"""A server of the Model Context Protocol's own SDK, in a process of its own: the tests' modules want other versions.

Arguments: the folder of the SDK in the tests' environment, a port, `json` or `sse`, and `sessions` or `stateless`.
Says `listens` on standard output before it does; what its tools were asked goes to standard error."""

import asyncio
import pathlib
import sys

FOLDER, PORT, ANSWERS, STATE = sys.argv[1:5]
sys.path.insert(0, FOLDER)

IS_CURRENT = pathlib.Path(FOLDER).name == "mcp-2026"
# A file whose content stands in the description of a tool: a test changes it.
WORDS = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None


def made():
    if IS_CURRENT:
        from mcp.server.mcpserver import MCPServer

        return MCPServer("tests")
    from mcp.server.fastmcp import FastMCP

    return FastMCP(
        "tests",
        host="127.0.0.1",
        port=int(PORT),
        json_response=ANSWERS == "json",
        stateless_http=STATE == "stateless",
    )


def with_tools(server):
    @server.tool(description=WORDS.read_text() if WORDS else "Tells the weather of a city.")
    def weather(city: str, days: int = 1) -> dict:
        """Tells the weather of a city."""
        print("weather", city, days, file=sys.stderr, flush=True)
        return {"city": city, "days": days, "sky": "clear"}

    @server.tool()
    def fails() -> str:
        """Fails."""
        raise ValueError("the sky fell")

    @server.tool()
    async def slow(seconds: float) -> str:
        """Takes its time."""
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            print("cancelled", file=sys.stderr, flush=True)
            raise
        return "done"

    @server.tool()
    def long() -> str:
        """Says much."""
        return "x" * 20_000

    @server.tool()
    def secret_tool() -> str:
        """Is not to be used."""
        return "no"

    if IS_CURRENT:
        from typing import Annotated

        from pydantic import Field

        # The server itself refuses a call whose header and argument differ.
        @server.tool()
        def regional(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
            """Is routed by its region."""
            return "from " + region

    return server


async def main():
    import uvicorn

    server = with_tools(made())
    if IS_CURRENT:
        app = server.streamable_http_app(json_response=ANSWERS == "json", stateless_http=STATE == "stateless")
    else:
        app = server.streamable_http_app()

    async def watched(scope, receive, send):
        """Tells the headers of each request, for what the client must send."""
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            wanted = ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "authorization")
            told = [f"{name}={headers[name]}" for name in wanted if name in headers]
            print("request", scope["method"], *told, file=sys.stderr, flush=True)
        await app(scope, receive, send)

    config = uvicorn.Config(watched, host="127.0.0.1", port=int(PORT), log_level="error", lifespan="on")
    print("listens", flush=True)
    await uvicorn.Server(config).serve()


asyncio.run(main())

"""Connects FastMCP by address alone, with its own redirect server. The first argument is the address of the MCP
endpoint; BROWSER is the program that answers in place of the browser."""

import asyncio
import sys

from fastmcp import Client


async def main():
    async with Client(sys.argv[1], auth="oauth") as client:
        names = [tool.name for tool in await client.list_tools()]
        assert {"create_warranty", "list_warranties", "verify_warranty"} <= set(names), names
        made = await client.call_tool("create_warranty", {"product_name": "Kettle", "start_date": "2026-01-01", "end_date": "2030-01-01"})
        assert not made.is_error, made
        print("ok connects")


asyncio.run(main())

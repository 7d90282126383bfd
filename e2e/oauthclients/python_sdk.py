"""Connects the Python SDK by address alone. The first argument is the address of the MCP endpoint, the second the
program that answers in place of the browser."""

import asyncio
import os
import subprocess
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

URL, ANSWER = sys.argv[1:]
KETTLE = {"product_name": "Kettle", "start_date": "2026-01-01", "end_date": "2030-01-01"}


class Memory:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Person:
    asked, env, answer = 0, {}, None

    async def decide(self, address):
        self.asked += 1
        env = {**os.environ, **self.env}
        to = subprocess.run([ANSWER, "--print", address], env=env, capture_output=True, text=True, check=True).stdout
        self.answer = {name: values[0] for name, values in parse_qs(urlparse(to.strip()).query).items()}

    async def result(self):
        return AuthorizationCodeResult(**self.answer)


async def main():
    person, memory = Person(), Memory()
    person.env = {"CONSENT_READ_ONLY": "1"}
    oauth = OAuthClientProvider(
        server_url=URL,
        client_metadata=OAuthClientMetadata(client_name="Python SDK", redirect_uris=["http://localhost:47812/callback"]),
        storage=memory,
        redirect_handler=person.decide,
        callback_handler=person.result,
    )
    async with httpx2.AsyncClient(auth=oauth, follow_redirects=True) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "list_warranties" in names and "create_warranty" not in names, names
            assert person.asked == 1
            print("ok connects")
            person.env = {}
            made = await client.call_tool("create_warranty", KETTLE)
            assert not made.is_error and person.asked == 2, (made, person.asked)
            print("ok asks for more scopes")
    async with httpx2.AsyncClient(auth=oauth, follow_redirects=True) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            before = memory.tokens.refresh_token
            oauth.context.token_expiry_time = 1  # long ago
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "create_warranty" in names and person.asked == 2, names
            assert memory.tokens.refresh_token != before
            print("ok refreshes")


asyncio.run(main())

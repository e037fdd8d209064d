"""The client of FastMCP, which signs in: `signing_in.py <url> <calls>`."""

import asyncio
import http.cookiejar
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import webbrowser

from fastmcp import Client

visits = 0


class Staying(urllib.request.HTTPRedirectHandler):
    """Follows no redirect by itself."""

    def redirect_request(self, *_args):
        return None


def visit(url):
    """Does what the browser of the user does."""
    global visits
    visits += 1
    threading.Thread(target=follow, args=[url], daemon=True).start()
    return True


def follow(url):
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener = urllib.request.build_opener(cookies, Staying())
    while True:
        try:
            opener.open(url)
            return
        except urllib.error.HTTPError as error:
            url = urllib.parse.urljoin(url, error.headers["location"])
        except urllib.error.URLError:
            # The client opens the browser before it listens for the code.
            time.sleep(0.02)


async def main(url, calls):
    async with Client(url, auth="oauth") as client:
        after_connect = visits
        tools = [tool.name for tool in await client.list_tools()]
        results = [(await client.call_tool(call["name"], call["arguments"])).structured_content for call in calls]
    print(json.dumps({"tools": tools, "results": results, "afterConnect": after_connect, "visits": visits}))


webbrowser.open = visit
asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))

"""The title of a page of the web."""

import re

from toolhost import Failed, InvalidArguments, http, tool


@tool(read_only=True)
def page_title(url: str) -> str:
    """Fetches a page and returns its title.

    url: The address of the page, with https://.
    """
    if not url.startswith("https://"):
        raise InvalidArguments("url must begin with https://")
    response = http.request("GET", url, timeout=10)
    if response.status != 200:
        raise Failed(f"{url} answers {response.status}")
    title = re.search(r"<title[^>]*>(.*?)</title>", response.text, re.IGNORECASE | re.DOTALL)
    return title.group(1).strip() if title else "(no title)"

"""What the dialects of the providers have in common: texts, images, tools, arguments and pieces of a stream."""

import base64
import json
import re

from script import Call, Refused


def need(holds: bool, reason: str):
    if not holds:
        raise Refused(reason)


def text_of(content) -> str:
    """The text of a message, which is a string or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text", "") for part in content)


def images_of(content, url_of) -> list[str]:
    """The images in a list of parts, each as a script names it. `url_of` returns the `data:` URL of a part."""
    parts = content if isinstance(content, list) else []
    urls = [url for part in parts if (url := url_of(part))]
    found = [re.fullmatch(r"data:([\w/+.-]+);base64,(.*)", url) for url in urls]
    need(all(found), f"an image is no data: URL in base64: {str(urls)[:200]}")
    return [image(match[1], match[2]) for match in found]


def image(media_type: str, data: str) -> str:
    """How a script names an image: its media type, and the number of its bytes."""
    return f"{media_type} of {len(base64.b64decode(data, validate=True))} bytes"


def sent(data, event: str | None = None) -> bytes:
    """An event of a stream, with a value or a text."""
    line = f"event: {event}\n" if event else ""
    return f"{line}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def names(tools, schema_of) -> set[str]:
    """The names of the tools, if all of them are in the shape of the dialect."""
    need(isinstance(tools, list) and tools, "the request has no tools")
    for tool in tools:
        try:
            name, schema = schema_of(tool)
        except (KeyError, TypeError):
            raise Refused(f"a tool has the shape of another provider: {json.dumps(tool)[:200]}") from None
        need(schema.get("type") == "object", f"the schema of {name} describes no object")
    return {schema_of(tool)[0] for tool in tools}


def pieces(text: str):
    """A text in pieces, as a stream brings it: about a hundred of a long text, because SDKs are slow with more."""
    size = max(12, len(text) // 100)
    return [text[at : at + size] for at in range(0, len(text), size)]


def arguments_of(text: str) -> dict | str:
    """The arguments of a call: an object, or the text of a model that wrote none."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict) else text


def written(arguments: dict | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def object_of(call: Call) -> dict:
    """The arguments of a call for a provider whose models write objects."""
    need(isinstance(call.arguments, dict), f"the arguments of {call.tool} must be an object for this provider")
    return call.arguments

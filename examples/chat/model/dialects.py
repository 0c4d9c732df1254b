"""The APIs of model providers, as far as a chat with tools needs them.

Each dialect reads a request into a conversation (`Said` and `Told`) and writes what the model says,
whole or as a stream.
"""

import re

from bedrock import Converse
from completions import ChatCompletions
from gemini import GenerateContent
from messages import Messages
from responses import Responses

DIALECTS = [ChatCompletions(), Responses(), Messages(), GenerateContent(), Converse()]


def dialect_of(path: str):
    """Returns the dialect of an address, if there is one."""
    return next((dialect for dialect in DIALECTS if re.fullmatch(dialect.path, path)), None)

"""What the model of the examples says, turn by turn, and what it wants to have been told by then."""

import json
import re
from dataclasses import dataclass, field


class Refused(Exception):
    """The request is not what the script expects; the text says what is wrong."""


@dataclass
class Asked:
    """A text of the user."""

    text: str


@dataclass
class Call:
    """A tool that the model asks for."""

    id: str
    tool: str
    arguments: dict | str


@dataclass
class Said:
    """One turn of the model: a text, calls, or both."""

    text: str
    calls: list[Call]


@dataclass
class Told:
    """What became of a call."""

    id: str
    text: str
    images: list[str] = field(default_factory=list)
    is_error: bool = False


class Script:
    """The turns of a chat, or a dialog for each prompt of the user, read from a JSON file."""

    def __init__(self, script: dict):
        self.script = script

    def next(self, tools: set[str], conversation: list, prefix: str) -> Said:
        """Returns what the model says to a conversation: the turns so far, with prompts and results in between.

        The ids of calls begin with `prefix`, as those of the provider do.
        """
        if "turns" in self.script:
            return Dialog(self.script["turns"]).next(tools, conversation, prefix)
        begin = max((place for place, item in enumerate(conversation) if isinstance(item, Asked)), default=None)
        if begin is None:
            raise Refused("the user has asked nothing yet")
        prompt = conversation[begin].text
        answers = (dialog for dialog in self.script["dialogs"] if re.search(dialog["when"], prompt, re.IGNORECASE))
        dialog = next(answers, None)
        if dialog is None:
            raise Refused(f"the script has no dialog for {prompt!r}")
        before = sum(isinstance(item, Said) for item in conversation[:begin])
        return Dialog(dialog["turns"]).next(tools, conversation[begin:], f"{prefix}_{before}")


class Dialog:
    """A list of turns."""

    def __init__(self, turns: list[dict]):
        self.turns = turns

    def next(self, tools: set[str], conversation: list, prefix: str) -> Said:
        """Returns the next turn, after a check of the turns so far."""
        results = {}
        said = None
        for number, (turn, results_of_turn) in enumerate(exchanges(conversation), start=1):
            said = self.turn(number, prefix, results)
            if turn.calls != said.calls:
                raise Refused(f"turn {number} was {said.calls}, and comes back as {turn.calls}")
            expected, got = [call.id for call in said.calls], [told.id for told in results_of_turn]
            if sorted(expected) != sorted(got):
                raise Refused(f"turn {number} needs results of {expected}, and got those of {got}")
            # Models give one id to several calls: their results come in the order of the calls.
            for told in results_of_turn:
                place = expected.index(told.id)
                expected[place] = None
                call = self.raw_calls(number, prefix)[place]
                results[call.get("as", call["id"])] = told
        number = sum(isinstance(item, Said) for item in conversation) + 1
        if number > len(self.turns):
            raise Refused(f"the script ends after {len(self.turns)} turns")
        said = self.turn(number, prefix, results)
        for call in said.calls:
            if call.tool not in tools:
                raise Refused(f"the script needs the tool {call.tool}; there are {sorted(tools)}")
        return said

    def raw_calls(self, number: int, prefix: str) -> list[dict]:
        calls = self.turns[number - 1].get("calls", [])
        return [{"id": f"{prefix}_{number}_{index}", **call} for index, call in enumerate(calls, start=1)]

    def turn(self, number: int, prefix: str, results: dict) -> Said:
        if number > len(self.turns):
            raise Refused(f"the script ends after {len(self.turns)} turns")
        calls = [Call(call["id"], call["tool"], call["arguments"]) for call in self.raw_calls(number, prefix)]
        return Said(filled(self.turns[number - 1].get("text", ""), results), calls)


def exchanges(conversation: list):
    """Pairs each turn of the model with the results that follow it."""
    pairs = []
    for item in conversation:
        if isinstance(item, Said):
            pairs.append((item, []))
        elif isinstance(item, Asked):
            continue
        elif pairs:
            pairs[-1][1].append(item)
        else:
            raise Refused(f"there is a result of {item.id}, which nobody has asked for")
    return pairs


def filled(text: str, results: dict) -> str:
    """Replaces `{name.field}` by that field of the result of a call, and `{name:images}` by its images."""

    def value(match: re.Match) -> str:
        name, *path = match[1].split(".")
        if name not in results:
            raise Refused(f"there is no result of {name} yet")
        if match[2]:
            return str(getattr(results[name], match[2]))
        found = results[name].text
        for key in path:
            try:
                # Other parts of the content may follow the JSON.
                found = json.JSONDecoder().raw_decode(found)[0] if isinstance(found, str) else found
                found = found[int(key) if isinstance(found, list) else key]
            except (ValueError, LookupError, TypeError):
                raise Refused(f"the result of {name} has no {key}: {results[name].text}") from None
        return str(found)

    return re.sub(r"\{(\w+(?:\.\w+)*)(?::(images|is_error))?\}", value, text)

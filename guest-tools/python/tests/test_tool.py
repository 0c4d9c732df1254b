"""Tools from functions."""

import enum
import unittest
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

from toolhost import Failed, InvalidArguments, Length, Pattern, Range, Reply, testing, tool
from toolhost.reply import of, structured, texts
from toolhost.tool import TOOLS
from toolhost.values import well_formed


class Order(enum.Enum):
    UP = "up"
    DOWN = "down"


@dataclass
class Edit:
    """A change.

    line: Where it is,
        counted from 1.
    """

    line: Annotated[int, Range(1)]
    all: bool = False
    names: list[str] = field(default_factory=list)


class Point(TypedDict):
    x: int
    label: NotRequired[str]


class Texts(unittest.TestCase):
    def test_half_of_a_surrogate_pair_is_replaced(self):
        self.assertEqual(well_formed("a\ud800b \U0001f600 \udc00"), "a\ufffdb \U0001f600 \ufffd")
        self.assertEqual(well_formed("plain"), "plain")


class Tools(unittest.TestCase):
    def setUp(self):
        self.before = dict(TOOLS)
        TOOLS.clear()

    def tearDown(self):
        TOOLS.clear()
        TOOLS.update(self.before)

    def test_every_type_has_its_schema(self):
        @tool
        def all_types(
            text: str,
            number: float,
            way: Literal["north", "south"],
            edits: list[Edit],
            point: Point,
            pair: tuple[int, str],
            tags: set[str],
            name: Annotated[str, "A name.", Length(1, 9), Pattern("^[a-z]+$")] = "a",
            many: Annotated[list[int], Length(most=3)] = (),
            counts: dict[str, int] | None = None,
            either: int | str = 1,
            maybe: Optional[int] = None,
            order: Order = Order.UP,
            nothing: dict = {},
            kinds: set[Order] = {Order.UP},
            anything: Any = None,
            *,
            flag: bool = True,
        ):
            """Does it all.

            text: The text.
            number: A number: with a colon.
            """

        made = TOOLS["all_types"]
        fields = made.input_schema["properties"]
        self.assertEqual(made.description, "Does it all.")
        self.assertEqual(fields["text"], {"type": "string", "description": "The text."})
        self.assertEqual(fields["number"], {"type": "number", "description": "A number: with a colon."})
        self.assertEqual(fields["way"], {"type": "string", "enum": ["north", "south"]})
        edit = fields["edits"]["items"]
        self.assertEqual(edit["description"], "A change.")
        line = {"type": "integer", "minimum": 1, "description": "Where it is, counted from 1."}
        self.assertEqual(edit["properties"]["line"], line)
        self.assertEqual((edit["required"], edit["additionalProperties"]), (["line"], False))
        self.assertEqual(edit["properties"]["all"], {"type": "boolean", "default": False})
        self.assertEqual(fields["point"]["required"], ["x"])
        self.assertEqual([one["type"] for one in fields["pair"]["prefixItems"]], ["integer", "string"])
        self.assertTrue(fields["tags"]["uniqueItems"])
        name = {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$"}
        self.assertEqual(fields["name"], {**name, "default": "a"})
        self.assertEqual(fields["many"]["maxItems"], 3)
        self.assertEqual(fields["counts"], {"type": "object", "additionalProperties": {"type": "integer"}})
        self.assertEqual(fields["either"], {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1})
        self.assertEqual(fields["maybe"], {"type": "integer"})
        self.assertEqual(fields["kinds"]["default"], ["up"])
        self.assertEqual(fields["order"], {"type": "string", "enum": ["up", "down"], "default": "up"})
        self.assertEqual(fields["anything"], {})
        self.assertEqual(made.input_schema["required"], ["text", "number", "way", "edits", "point", "pair", "tags"])

    def test_arguments_become_values_of_their_types(self):
        seen = []

        @tool
        def take(edits: list[Edit], pair: tuple[int, str], ratio: float, order: Order | None = None, more: Edit | int = 0):
            """Takes."""
            seen.extend([edits, pair, ratio, order, more])

        arguments = {"edits": [{"line": 1}], "pair": [1, "a"], "ratio": 2, "order": "down", "more": {"line": 2, "all": "true"}}
        testing.reply_of("take", arguments)
        self.assertEqual(seen, [[Edit(1)], (1, "a"), 2.0, Order.DOWN, Edit(2, all=True)])
        self.assertIsInstance(seen[2], float)
        with self.assertRaisesRegex(InvalidArguments, "`edits.0..line`: invalid value: integer `0`, expected an integer of 1 or more"):
            testing.reply_of("take", {**arguments, "edits": [{"line": 0}]})

    def test_the_decorator_says_what_a_tool_is(self):
        @tool(
            name="renamed",
            title="A title",
            read_only=True,
            idempotent=True,
            closed_world=True,
            max_duration=timedelta(minutes=1),
            examples=[{"text": "a"}],
            resources=[{"uri": "docs:{page}", "name": "page"}],
        )
        def original(text: str) -> Edit:
            """Does it."""
            return Edit(len(text))

        made = TOOLS["renamed"]
        self.assertEqual((made.title, made.max_duration), ("A title", 60.0))
        self.assertTrue(made.read_only and made.non_destructive and made.idempotent and made.closed_world)
        self.assertEqual(made.examples[0].arguments, {"text": "a"})
        # A dataclass in a reply always has all its fields.
        self.assertEqual(made.output_schema["required"], ["line", "all", "names"])
        self.assertEqual(testing.call("renamed", text="ab"), {"line": 2, "all": False, "names": []})
        self.assertEqual(original("ab"), Edit(2))

    def test_what_the_host_would_refuse_is_refused_at_once(self):
        def undocumented(text: str):
            pass

        def documented(*texts: str):
            """Does it."""

        def odd(text: complex):
            """Does it."""

        async def waiting(text: str):
            """Does it."""

        with self.assertRaisesRegex(TypeError, "the tool waiting is an async function"):
            tool(waiting)
        with self.assertRaisesRegex(ValueError, "no docstring"):
            tool(undocumented)
        with self.assertRaisesRegex(TypeError, "has the parameter"):
            tool(documented)
        with self.assertRaisesRegex(TypeError, "the tool odd: text: complex has no JSON Schema"):
            tool(odd)
        for name in ["Read", "a__b", "a_", "1a", "a-b", "ä", "a" * 32]:
            with self.assertRaisesRegex(ValueError, "is no name of a tool"):
                tool(undocumented, name=name, description="Does it.")
        tool(undocumented, description="Does it.")
        with self.assertRaisesRegex(ValueError, "two tools have the name"):
            tool(undocumented, description="Does it.")

    def test_results_become_replies(self):
        self.assertEqual(texts(of("text")), "text")
        self.assertEqual(of(None).parts, [])
        self.assertEqual(structured(of({"ü": [Order.UP, {1}]})), {"ü": ["up", [1]]})
        self.assertEqual(of([1]).parts[0].text, "[1]")
        reply = Reply("see").image(b"png", "image/png").document("docs:a", b"x", "text/plain")
        self.assertEqual([part.kind for part in of(reply).parts], ["text", "image", "document"])
        self.assertTrue(Reply.error("no").is_error)
        for value in [float("nan"), object(), {1: object()}]:
            with self.assertRaisesRegex(Failed, "the reply cannot be written as JSON"):
                of({"value": value})

"""Arguments as models write them."""

import json
import unittest
from pathlib import Path

from toolhost import InvalidArguments
from toolhost.arguments import parse

CASES = Path(__file__).parents[2] / "arguments.json"


class Arguments(unittest.TestCase):
    def test_the_cases_that_all_languages_share(self):
        shared = json.loads(CASES.read_text(encoding="utf-8"))
        for text, expected in shared["cases"]:
            with self.subTest(text):
                try:
                    found = parse(text, shared["schema"])
                except InvalidArguments as error:
                    found = str(error)
                self.assertEqual(found, expected)
                self.assertIs(type(found), type(expected))

    def test_plain_arguments_stay(self):
        schema = json.loads(CASES.read_text(encoding="utf-8"))["schema"]
        once = parse('{"path": "", "line": "1.0", "edits": "[{\\"line\\": 1e0}]", "deep": ""}', schema)
        self.assertEqual(parse(json.dumps(once), schema), once)

    def test_whole_numbers_keep_all_their_digits(self):
        schema = {"type": "object"}
        for text, number in [("-0.0", 0), ("1e16", 10**16), ("1e19", 10**19), ("1e20", 1e20), (str(2**64 - 1), 2**64 - 1)]:
            found = parse(f'{{"n": {text}}}', schema)["n"]
            self.assertEqual((found, type(found)), (number, type(number)), text)

    def test_what_is_no_json_is_refused(self):
        for text in ["{", "{} {}", '{"a": NaN}']:
            with self.assertRaisesRegex(InvalidArguments, "^invalid arguments: "):
                parse(text, {"type": "object"})

"""Tests of the plugin, without a component: `python3 -m unittest`."""

import unittest
from pathlib import Path

import plugin  # noqa: F401 -- defines the tools
from toolhost import testing


class Plugin(unittest.TestCase):
    def test_cases(self):
        self.assertEqual(testing.run_cases(Path(__file__).with_name("cases.json")), 4)

    def test_ids_have_the_prefix_of_the_operator(self):
        with testing.host(settings={"prefix": "row-"}) as host:
            ids = testing.call("new_ids", count=2)["ids"]
        self.assertTrue(all(one.startswith("row-") for one in ids) and ids[0] != ids[1])
        self.assertEqual(host.logged, ["debug: making 2 ids"])

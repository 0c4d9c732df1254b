"""Tests of the plugin, without a component: `python3 -m unittest`."""

import unittest
from pathlib import Path

import plugin  # noqa: F401 -- defines the tools
from toolhost import testing


class Plugin(unittest.TestCase):
    def test_cases(self):
        testing.run_cases(Path(__file__).with_name("cases.json"))

    def test_line_ends_separate_words(self):
        self.assertEqual(testing.call("{{name}}", text="one\ntwo three"), {"words": 3})

{{#processes}}
    def test_a_path_is_only_a_path(self):
        processes = testing.FakeProcesses().starts(testing.FakeProcess().prints("12K\ta $(b)\n").exits(0))
        with testing.host(processes=processes):
            self.assertEqual(testing.call("disk_usage", path="a $(b)"), "12K")
        self.assertEqual(processes.started[0].env, {"TARGET": "a $(b)"})

{{/processes}}
{{#files}}
    def test_the_rest_of_the_file_is_left_out(self):
        with testing.host(files=testing.FakeFiles({"a.txt": "one\ntwo\n"})):
            self.assertEqual(testing.call("first_line", path="a.txt"), "one")

{{/files}}
{{#http}}
    def test_the_title_is_found(self):
        page = "<html><title>A page</title></html>"
        with testing.host(http=testing.FakeHttp().responds("https://example.com", page)):
            self.assertEqual(testing.call("page_title", url="https://example.com"), "A page")

{{/http}}

if __name__ == "__main__":
    unittest.main()

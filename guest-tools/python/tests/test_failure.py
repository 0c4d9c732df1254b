"""Exceptions that no tool catches, as the model and the log have them."""

import unittest

from toolhost import failure


def fail(how: str):
    if how == "key":
        return {}["zz"]
    if how == "open":
        return open("/no/such/file")
    if how == "import":
        import no_such_module  # noqa: F401
    raise RecursionError if how == "bare" else ValueError("two\nlines")


class Failure(unittest.TestCase):
    def of(self, how: str) -> Exception:
        # assertRaises would forget the traceback.
        try:
            fail(how)
        except Exception as error:
            return error
        raise AssertionError("nothing was raised")

    def test_the_summary_has_type_message_and_place(self):
        for how, words in [
            ("key", "KeyError: 'zz' (tests/test_failure.py:10)"),
            ("bare", "RecursionError (tests/test_failure.py:15)"),
            ("other", "ValueError: two\nlines (tests/test_failure.py:15)"),
        ]:
            self.assertEqual(failure.summary(self.of(how)), words)

    def test_the_summary_says_what_to_use_instead(self):
        opened = failure.summary(self.of("open"))
        self.assertTrue(opened.startswith("FileNotFoundError: "), opened)
        self.assertIn("(tests/test_failure.py:12); open() and pathlib reach no files of the workspace: use toolhost.files", opened)
        self.assertIn("import it at the top of the module", failure.summary(self.of("import")))

    def test_the_traceback_has_the_frames_of_the_author(self):
        lines = failure.lines(self.of("key"))
        self.assertEqual((lines[0], lines[-1]), ("Traceback (most recent call last):", "KeyError: 'zz'"))
        self.assertIn('  File "tests/test_failure.py", line 10, in fail', lines)

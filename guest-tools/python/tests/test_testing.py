"""The test kit, and what a tool sees of it."""

import json
import tempfile
import unittest
from pathlib import Path

from toolhost import Denied, Failed, HostError, ToolError, context, files, http, log, processes, progress, settings, testing, tool
from toolhost.testing import FakeFiles, FakeHttp, FakeProcess, FakeProcesses
from toolhost.tool import TOOLS


class Kit(unittest.TestCase):
    def test_surroundings_are_those_of_one_block(self):
        with testing.host(settings={"k": "v"}, secrets={"s": "x"}, attributes={"locale": "de"}, chat="c") as host:
            self.assertEqual((settings.get("k"), settings.get("other"), settings.get("other", "d")), ("v", None, "d"))
            self.assertEqual((settings.secret("s"), context.attribute("locale"), context.chat()), ("x", "de", "c"))
            with self.assertRaisesRegex(Denied, 'there is no secret "t"'):
                settings.secret("t")
            log.warn("hm")
            progress.report(1, 2, "half")
        self.assertEqual((host.logged, host.progress), (["warn: hm"], [(1.0, 2.0, "half")]))
        self.assertEqual(settings.get("k"), None)

    def test_a_command_runs_on_the_virtual_clock(self):
        script = FakeProcess().prints("one\n").after(90).prints("two\n").exits(3)
        fakes = FakeProcesses(clamp=60, in_shell="sh").starts(script)
        with testing.host(processes=fakes) as host:
            self.assertEqual(processes.shell(), "sh")
            seen = processes.run("make", env={"A": "b"}, without=("network",), stdin="in")
            self.assertEqual((seen.state.code, seen.text, host.now), (3, "one\ntwo\n", 90))
        self.assertEqual(fakes.started[0].env, {"A": "b"})
        self.assertEqual((fakes.started[0].stdin, fakes.started[0].without), (b"in", ("network",)))

    def test_a_command_that_takes_too_long_is_ended(self):
        def run(**surroundings):
            fakes = FakeProcesses().starts(FakeProcess().after(100).exits(0))
            with testing.host(processes=fakes, **surroundings):
                with self.assertRaises(Failed) as raised:
                    processes.run("sleep", timeout=50)
                self.assertEqual(processes.open("p1").info().state.signal, "SIGTERM")
            self.assertEqual(fakes.signals, [("p1", "terminate")])
            return str(raised.exception)

        self.assertEqual(run(), "the command was ended: it took more than 50 s")
        self.assertEqual(run(remaining=30.0), "the command was ended: it took more than 28 s")
        self.assertEqual(run(cancelled_after=10), "the command was ended: the call was cancelled")

    def test_waits_end_by_their_options(self):
        script = FakeProcess().after(1).prints("a\nready 7\n").after(1).exits(0)
        fakes = FakeProcesses().starts(script).has(FakeProcess("old").lingers(0, (7, "child")), "server")
        with testing.host(processes=fakes) as host, processes.start("serve", background=True) as process:
            self.assertEqual(process.wait(0.5).wake, "timed-out")
            self.assertEqual(process.wait(9, output=True).wake, "output")
            waited = process.wait(9, until=r"^ready \d")
            self.assertEqual((waited.wake, waited.match_end, host.now), ("matched", 9, 1))
            self.assertEqual(process.read(2, 5).data, b"ready")
            found, total = processes.list_processes(running_only=True)
            self.assertEqual(([one.id for one in found], total), (["p1", "old"], 2))
            self.assertEqual(processes.open("old").snapshot().survivors, [(7, "child")])
            with self.assertRaises(HostError) as raised:
                processes.open("gone")
            self.assertEqual((raised.exception.reason, raised.exception.kind), ("not-found", "failed"))

    def test_a_process_reads_from_a_pipe(self):
        fakes = FakeProcesses().starts(FakeProcess().after(9).exits(0)).has(FakeProcess("old").takes_input(), "repl")
        with testing.host(processes=fakes), processes.start("cat", stdin=processes.PIPE) as process:
            self.assertEqual(process.write("é\n").kind, "running")
            process.write(b"\xff")
            self.assertEqual((process.snapshot().takes_input, process.snapshot().screen), (True, None))
            self.refused("invalid", "it has no terminal", lambda: process.resize(30, 90))
            process.close_input()
            self.assertFalse(process.snapshot().takes_input)
            self.refused("invalid", "its standard input is not open", lambda: process.write("more"))
            old = processes.open("old")
            self.assertEqual((old.write("1").kind, old.snapshot().takes_input), ("running", True))
        self.assertIs(fakes.started[0].stdin, processes.PIPE)
        written = [(id, *rest) for id, what, *rest in fakes.inputs if what == "write"]
        self.assertEqual(written, [("p1", "é\n".encode()), ("p1", b"\xff"), ("p1", b"more"), ("old", b"1")])
        self.assertIn(("p1", "close"), fakes.inputs)

    def test_a_process_has_a_terminal(self):
        screen = processes.Screen("Name:", cursor=(1, 6), title="ask")
        script = FakeProcess().shows(screen).after(1).shows(processes.Screen("Hello")).exits(0)
        fakes = FakeProcesses().starts(script).has(FakeProcess("vi").shows(processes.Screen("~", 30, 90, alternate=True)), "vi")
        with testing.host(processes=fakes):
            process = processes.start("ask", stdin=processes.Terminal(10, 40))
            self.assertEqual(process.snapshot().screen, processes.Screen("Name:", 10, 40, (1, 6), "ask"))
            process.write("Ann\r")
            process.close_input()
            process.resize(20, 60)
            self.assertEqual(process.wait(9).wake, "ended")
            seen = process.snapshot()
            self.assertEqual((seen.screen, seen.takes_input), (processes.Screen("Hello", 20, 60), False))
            self.refused("invalid", "it has ended", lambda: process.write("x"))
            self.assertEqual(processes.open("vi").snapshot().screen, processes.Screen("~", 30, 90, alternate=True))
        self.assertEqual(fakes.started[0].stdin, processes.Terminal(10, 40))
        self.assertEqual(fakes.inputs[:3], [("p1", "write", b"Ann\r"), ("p1", "close"), ("p1", "resize", 20, 60)])

    def test_a_chat_is_told_and_waits_for_several(self):
        fakes = FakeProcesses().starts(FakeProcess("a").after(9).exits(0)).starts(FakeProcess("b").after(3).exits(1))
        with testing.host(processes=fakes):
            both = [processes.start(name) for name in ("slow", "fast")]
            self.assertEqual([both[0].notify(), both[1].notify("ready", 4)], ["notice_1", "notice_2"])
            self.assertEqual(processes.wait_any(both, 1), ("timed-out", None))
            self.assertEqual(processes.wait_any(both, 60), ("ended", both[1]))
            self.assertEqual(processes.wait_any(both[:1], 60), ("ended", both[0]))
        self.assertEqual(fakes.notices, [("a", None, 0), ("b", "ready", 4)])

    def test_a_server_listens_and_another_command_ends(self):
        fakes = FakeProcesses().starts(FakeProcess("a").listens(8080, "http://a/")).starts(FakeProcess("b").after(2).exits(1))
        with testing.host(processes=fakes):
            server, other = (processes.start(name) for name in ("serve", "fail"))
            self.assertEqual(server.listening(60), [processes.Port(8080, "http://a/")])
            self.assertEqual(other.listening(60), [])
            self.assertEqual(other.snapshot().state.kind, "exited")

    def test_a_process_without_input_refuses_it(self):
        silent = FakeProcess("p1").takes_input().shows(processes.Screen("?"))
        stuck = FakeProcess("p2").fails_to_take_input("failed", "wrote 0 of 1 bytes")
        fakes = FakeProcesses().starts(silent).starts(stuck)
        with testing.host(processes=fakes):
            process = processes.start("sort", stdin="b\na\n")
            self.assertEqual((process.snapshot().takes_input, process.snapshot().screen), (False, None))
            self.refused("invalid", "its standard input is not open", process.close_input)
            process = processes.start("stuck", stdin=processes.Terminal())
            for ask in (lambda: process.write("x"), process.close_input, lambda: process.resize(30, 90)):
                self.refused("failed", "wrote 0 of 1 bytes", ask)
        self.assertEqual([what for _, what, *_ in fakes.inputs], ["close", "write", "close", "resize"])

    def refused(self, reason: str, text: str, ask):
        with self.assertRaisesRegex(HostError, f"^{text}") as raised:
            ask()
        self.assertEqual(raised.exception.reason, reason)

    def test_a_start_can_fail(self):
        with testing.host(processes=FakeProcesses().fails_to_start("denied", "no commands")):
            with self.assertRaises(ToolError) as raised:
                processes.run("ls")
        self.assertEqual((raised.exception.kind, str(raised.exception)), ("denied", "no commands"))

    def test_files_behave_as_those_of_the_host(self):
        tree = FakeFiles({"a.txt": "one\ntwo", "sub/b": b"\xff"}).fails("locked", "denied", "no")
        with testing.host(files=tree):
            self.assertEqual((files.read_text("/workspace/a.txt"), files.read_text("sub/b")), ("one\ntwo", "\ufffd"))
            self.assertEqual([(one.name, one.kind) for one in files.list_directory()], [("a.txt", "file"), ("sub", "directory")])
            self.assertEqual((files.exists("sub"), files.exists("x")), (True, False))
            self.assertEqual(files.skip_lines("a.txt", 0, 9), files.Skipped(7, 1, 7))
            for path, reason in [
                ("x", "not-found"),
                ("sub", "not-a-file"),
                ("a.txt/x", "not-a-directory"),
                ("../x", "outside-workspace"),
                ("locked", "denied"),
            ]:
                with self.assertRaises(HostError) as raised:
                    files.read_bytes(path)
                self.assertEqual(raised.exception.reason, reason)
            version = files.metadata("a.txt").version
            files.write("a.txt", "three", version=version)
            with self.assertRaises(HostError) as raised:
                files.write_all([files.Write("new", b""), files.Write("a.txt", b"", version=version)])
            self.assertEqual((raised.exception.reason, raised.exception.index), ("changed", 1))
            gone = [files.Removal("sub/b"), files.Removal("x")]
            with self.assertRaises(HostError) as raised:
                files.change_all([files.Write("new", b"")], gone)
            self.assertEqual((raised.exception.reason, raised.exception.index), ("not-found", 2))
            self.assertEqual((tree.text("a.txt"), tree.text("new")), ("three", None))
            with self.assertRaises(HostError) as raised:
                files.remove("a.txt", version=version)
            self.assertEqual(raised.exception.reason, "changed")
            files.change_all([files.Write("new", b"three")], [files.Removal("a.txt", moved_to=0)])
        self.assertEqual((tree.text("a.txt"), tree.text("new")), (None, "three"))

    def test_requests_get_the_responses_of_the_test(self):
        network = FakeHttp().responds("https://a.example/x", json={"k": 1}, headers={"X-A": "b"}).fails("https://b.example/")
        with testing.host(http=network):
            response = http.get("https://a.example/x", headers={"Accept": "*/*"})
            self.assertEqual((response.status, response.json(), response.headers), (200, {"k": 1}, {"x-a": "b"}))
            for url, kind in [("https://b.example/", "unavailable"), ("https://c.example/", "denied")]:
                with self.assertRaises(ToolError) as raised:
                    http.get(url)
                self.assertEqual(raised.exception.kind, kind)
            with self.assertRaisesRegex(HostError, '^"a.example" is not an absolute URL'):
                http.get("a.example")
        self.assertEqual(network.requests[0].headers, {"accept": "*/*"})

    def test_a_request_with_another_method_ends_the_test(self):
        network = FakeHttp().responds("https://a.example", "x").responds("https://b.example/", method="PUT")
        with testing.host(http=network):
            self.assertEqual(http.get("https://A.example/").text, "x")
            with self.assertRaises(AssertionError) as raised:
                http.post("https://a.example/")
            text = "no answer for POST https://a.example/; there is one for GET"
            self.assertEqual(str(raised.exception), text)
            with self.assertRaisesRegex(HostError, "no answer for GET https://c.example; there is one for GET https://a.example/ and PUT"):
                http.get("https://c.example")
        self.assertEqual([request.method for request in network.requests], ["GET", "POST", "GET"])

    def test_files_that_fit_a_pattern_are_found(self):
        names = ["a.py", "b.txt", ".hidden/c.py", "src/d.py", "src/deep/e.py", "src/deep/.f.py", "tests/g.py"]
        tree = FakeFiles(dict.fromkeys(names, "")).fails("tests", "denied", "no")
        with testing.host(files=tree):
            for pattern, found in [
                ("*.py", ["a.py"]),
                ("**/*.py", ["a.py", "src/d.py", "src/deep/e.py"]),
                ("**", ["a.py", "b.txt", "src/d.py", "src/deep/e.py"]),
                ("src/*/?.py", ["src/deep/e.py"]),
                ("src/**/deep/*", ["src/deep/e.py"]),
                ("/workspace/src/*.py", ["/workspace/src/d.py"]),
                (".hidden/*", [".hidden/c.py"]),
                ("**/.*", ["src/deep/.f.py"]),
                ("src/d.py", ["src/d.py"]),
                ("*.[pt]*", []),
            ]:
                self.assertEqual(list(files.walk(pattern)), found, pattern)
            with self.assertRaises(HostError):
                list(files.walk("nowhere/*"))

    def test_files_are_searched(self):
        tree = FakeFiles(
            {
                "a.py": "one\nTwo\nthree",
                "sub/b.rs": "two words\r\n",
                "sub/deep/c.py": "twofold\n",
                ".hidden/d.py": "two",
                "binary": b"two\0",
            }
        ).fails("locked", "denied", "no")
        with testing.host(files=tree):
            for pattern, options, found in [
                ("two", {}, ["sub/b.rs:1:two words", "sub/deep/c.py:1:twofold"]),
                ("t.o", {"path": "/workspace/sub", "max_depth": 1}, ["sub/b.rs:1:two words"]),
                ("t.o", {"path": "a.py", "letter_case": "any", "types": ["rs"]}, ["a.py:2:Two"]),
                ("two", {"letter_case": "smart", "words": True}, ["a.py:2:Two", "sub/b.rs:1:two words"]),
                ("Two", {"letter_case": "smart"}, ["a.py:2:Two"]),
                ("^Two$", {"before": 1, "after": 5}, ["a.py:1:one", "a.py:2:Two", "a.py:3:three"]),
                ("two", {"hidden": True, "types": ["py"]}, [".hidden/d.py:1:two", "sub/deep/c.py:1:twofold"]),
                ("two", {"globs": ["*.{rs,md}"]}, ["sub/b.rs:1:two words"]),
                ("two", {"globs": ["sub/**/c.*"]}, ["sub/deep/c.py:1:twofold"]),
                ("two", {"globs": ["sub/", "!deep"]}, ["sub/b.rs:1:two words"]),
                ("two", {"globs": ["/*"]}, ["sub/b.rs:1:two words", "sub/deep/c.py:1:twofold"]),
                (".", {"literal": True}, []),
                ("two", {"width": 3}, ["sub/b.rs:1:two…", "sub/deep/c.py:1:two…"]),
                ("two", {"skip": 1, "max": 1}, ["sub/deep/c.py:1:twofold"]),
            ]:
                seen = files.search(pattern, **options)
                lines = [f"{one.path}:{line.number}:{line.text}{'…' * line.is_cut}" for one in seen.files for line in one.lines]
                self.assertEqual(lines, found, (pattern, options))
            self.refused("invalid", "the pattern is not valid: ", lambda: files.search("("))
            self.refused("not-found", "no such file", lambda: files.search("two", "nowhere"))
            self.refused("denied", "no", lambda: files.search("two", "locked"))

    def test_a_search_has_pages(self):
        with testing.host(files=FakeFiles({"a": "x\nx\ny\n", "b": "x", "c": ""})):
            seen = files.search("x", max=2)
            lines = [files.Line(1, "x", True, False), files.Line(2, "x", True, False)]
            self.assertEqual(seen, files.Matches([files.FileMatches("a", 2, lines)], 2, 3, 3, 0, True))
            self.assertFalse(files.search("x", skip=2, max=1).more)
            seen = files.search("x", files_only=True, skip=1)
            self.assertEqual((seen.files, seen.more), ([files.FileMatches("b", 1, [])], False))

    def test_files_are_found_by_their_facts(self):
        with testing.host(files=FakeFiles({"a.py": "12", "sub/b.py": "1", "sub/c.txt": ""})):
            modified = files.metadata("a.py").modified_ms
            for options, found in [
                ({}, ["a.py", "sub/b.py", "sub/c.txt"]),
                ({"path": "sub", "globs": ["*.py"]}, ["sub/b.py"]),
                ({"kind": "file", "min_size": 1, "max_size": 1}, ["sub/b.py"]),
                ({"kind": "symlink"}, []),
                ({"since_ms": modified, "until_ms": modified + 1, "newest_first": True}, ["a.py", "sub/b.py", "sub/c.txt"]),
                ({"until_ms": modified}, []),
                ({"since_ms": modified + 1}, []),
                ({"skip": 1, "max": 1}, ["sub/b.py"]),
            ]:
                self.assertEqual([one.path for one in files.find(**options).files], found, options)
            seen = files.find(max=1)
            self.assertEqual(seen, files.Found([files.FoundFile("a.py", "file", 2, modified)], 3, 0, True))

    def test_files_are_shared(self):
        with testing.host(files=FakeFiles({"out/a.txt": "one", "b": ""})):
            shared = files.share("out/a.txt", lifetime_secs=60)
            self.assertEqual((shared.name, shared.size, shared.media_type), ("a.txt", 3, "text/plain"))
            self.assertEqual(shared.expires_ms, 60_000)
            self.assertRegex(shared.url, "^https://.*/a.txt$")
            self.assertEqual(files.share("b").media_type, "application/octet-stream")
            self.refused("not-a-file", "not a file", lambda: files.share("out"))
            self.refused("not-found", "no such file", lambda: files.share("c"))
            self.refused("invalid", "a link lasts", lambda: files.share("b", lifetime_secs=59))

    def test_urls_are_split(self):
        for url, parts in [
            ("https://a.example", ("https", "a.example", "/")),
            ("HTTP://a.example:81?q=/#top", ("http", "a.example:81", "/?q=/")),
            ("https://a.example/b?c#d", ("https", "a.example", "/b?c")),
        ]:
            self.assertEqual(http.split(url), parts)


class Cases(unittest.TestCase):
    def setUp(self):
        self.before = dict(TOOLS)

        @tool
        def half(number: int) -> dict:
            """Halves."""
            if number % 2:
                raise Failed(f"{number} is odd")
            log.info("halving")
            return {"half": number // 2, "unit": settings.get("unit")}

        @tool
        def read(path: str, method: str = "GET", catches: bool = False) -> str:
            """Reads a file, and sends it with a secret."""
            try:
                response = http.request(method, "https://a.example", headers={"key": settings.secret("key")})
            except Exception as error:
                if not catches:
                    raise
                return f"caught {type(error).__name__}"
            return f"{files.read_text(path)} {response.status} {response.text}"

    def tearDown(self):
        TOOLS.clear()
        TOOLS.update(self.before)

    def run_cases(self, *cases):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "cases.json")
            path.write_text(json.dumps({"cases": [{"name": "one", "tool": "half", **case} for case in cases]}))
            return testing.run_cases(path)

    def test_cases_that_fit(self):
        right = {"arguments": {"number": 4}, "settings": {"unit": "m"}, "reply": {"half": 2, "unit": "m"}}
        wrong = {"arguments": {"number": 3}, "error": {"kind": "failed", "message": "is odd"}}
        self.assertEqual(self.run_cases(right, wrong), 2)

    def test_a_case_gives_files_secrets_and_answers(self):
        given = {
            "tool": "read",
            "arguments": {"path": "src/a.txt"},
            "files": {"src/a.txt": "text"},
            "secrets": {"key": "k"},
            "http": [
                {"request": {"url": "https://a.example"}, "answer": {"status": 404, "body": "none"}},
                {"request": {"method": "POST", "url": "https://a.example/"}, "answer": {"json": {"a": 1}}},
            ],
        }
        post = {**given, "arguments": {"path": "src/a.txt", "method": "POST"}, "text": 'text 200 {"a": 1}'}
        missing = {**given, "files": {}, "error": {"kind": "failed", "message": "no such file"}}
        self.assertEqual(self.run_cases({**given, "text": "text 404 none"}, post, missing), 3)
        for changed in ({"path": "src/a.txt", "method": "PUT"}, {"path": "src/a.txt", "method": "PUT", "catches": True}):
            with self.assertRaises(AssertionError) as raised:
                self.run_cases({**given, "arguments": changed, "text": "caught Missing"})
            text = "one: no answer for PUT https://a.example; there is one for GET and POST"
            self.assertEqual(str(raised.exception), text)

    def test_cases_have_the_surroundings_of_the_test(self):
        case = {"arguments": {"number": 4}, "reply": {"half": 2, "unit": "km"}}
        with testing.host(settings={"unit": "km"}):
            self.assertEqual(self.run_cases(case), 1)
        read = {"tool": "read", "arguments": {"path": "a"}, "text": "content 200 "}
        surroundings = {"files": FakeFiles({"a": "content"}), "secrets": {"key": "k"}}
        with testing.host(**surroundings, http=FakeHttp().responds("https://a.example")):
            self.assertEqual(self.run_cases(read), 1)
        with self.assertRaisesRegex(AssertionError, "one: the test has no http: give some"):
            self.run_cases({**read, "secrets": {"key": "k"}})

    def test_cases_that_differ(self):
        for case, problem in [
            ({"arguments": {"number": 4}, "reply": {"half": 3}}, 'one: the reply is {"half": 2, "unit": null}'),
            ({"arguments": {"number": 4}, "error": {"kind": "failed"}}, "one: it replied: "),
            ({"arguments": {"number": 3}, "reply": {}}, "one: it failed with failed: 3 is odd"),
            ({"arguments": {"number": 3}, "error": {"kind": "denied"}}, "one: the error is failed: 3 is odd"),
            ({"arguments": {"number": 4}, "is_error": True, "text": ""}, "one: is_error is false"),
            ({"arguments": {"number": 4}, "text": "", "file": {}}, "one: unknown field file; the fields are name, tool"),
            ({"arguments": {"number": 4}}, "one: it must have one of reply, text and error"),
        ]:
            with self.assertRaises(AssertionError) as raised:
                self.run_cases(case)
            self.assertIn(problem, str(raised.exception))

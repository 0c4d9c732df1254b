// The test kit, and what a tool sees of it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as files from "../toolhost/files.js";
import * as http from "../toolhost/http.js";
import { Failed, context, log, progress, settings, t, tool } from "../toolhost/index.js";
import * as processes from "../toolhost/processes.js";
import { FakeFiles, FakeHttp, FakeProcess, FakeProcesses, runCases, withHost } from "../toolhost/testing.js";

test("surroundings are those of one function", () => {
  const fields = { settings: { k: "v" }, secrets: { s: "x" }, attributes: { locale: "de" }, chat: "c" };
  const host = withHost(fields, (host) => {
    assert.deepEqual([settings.get("k"), settings.get("other"), settings.get("other", "d")], ["v", undefined, "d"]);
    assert.deepEqual([settings.secret("s"), context.attribute("locale"), context.chat()], ["x", "de", "c"]);
    assert.throws(() => settings.secret("t"), { kind: "denied", message: 'there is no secret "t"' });
    log.warn("hm");
    progress.report(1, 2, "half");
    return host;
  });
  assert.deepEqual([host.logged, host.progress], [["warn: hm"], [[1, 2, "half"]]]);
  assert.equal(settings.get("k"), undefined);
});

test("a command runs on the virtual clock", () => {
  const script = new FakeProcess().prints("one\n").after(90).prints("two\n").exits(3);
  const fakes = new FakeProcesses({ clamp: 60, inShell: "sh" }).starts(script);
  withHost({ processes: fakes }, (host) => {
    assert.equal(processes.shell(), "sh");
    const seen = processes.run("make", { env: { A: "b" }, without: ["network"], stdin: "in" });
    assert.deepEqual([seen.state.code, seen.text, host.now], [3, "one\ntwo\n", 90]);
  });
  assert.deepEqual(fakes.started[0].env, { A: "b" });
  assert.deepEqual([fakes.started[0].stdin, fakes.started[0].without], [new TextEncoder().encode("in"), ["network"]]);
});

test("a command that takes too long is ended", () => {
  const refusal = (fields) => {
    const fakes = new FakeProcesses().starts(new FakeProcess().after(100).exits(0));
    let thrown;
    withHost({ processes: fakes, ...fields }, () => {
      assert.throws(() => processes.run("sleep", { timeout: 50 }), (error) => (thrown = error) instanceof Failed);
      assert.equal(processes.open("p1").info().state.signal, "SIGTERM");
    });
    assert.deepEqual(fakes.signals, [["p1", "terminate"]]);
    return thrown.message;
  };
  assert.equal(refusal({}), "the command was ended: it took more than 50 s");
  assert.equal(refusal({ remaining: 30 }), "the command was ended: it took more than 28 s");
  assert.equal(refusal({ cancelledAfter: 10 }), "the command was ended: the call was cancelled");
});

test("waits end by their options", () => {
  const script = new FakeProcess().after(1).prints("a\nready 7\n").after(1).exits(0);
  const old = new FakeProcess("old").lingers(0, { pid: 7, command: "child" });
  const fakes = new FakeProcesses().starts(script).has(old, "server");
  withHost({ processes: fakes }, (host) => {
    const process = processes.start("serve", { background: true });
    assert.equal(process.wait(0.5).wake, "timed-out");
    assert.equal(process.wait(9, { output: true }).wake, "output");
    const { wake, matchEnd } = process.wait(9, { until: "^ready \\d" });
    assert.deepEqual([wake, matchEnd, host.now], ["matched", 9, 1]);
    assert.equal(new TextDecoder().decode(process.read(2, 5).data), "ready");
    const { processes: found, total } = processes.listProcesses({ runningOnly: true });
    assert.deepEqual([found.map(({ id }) => id), total], [["p1", "old"], 2]);
    assert.deepEqual(processes.open("old").snapshot().survivors, [{ pid: 7, command: "child" }]);
    assert.throws(() => processes.open("gone"), { reason: "not-found", kind: "failed" });
  });
});

test("a long output says what is left out", () => {
  const fakes = new FakeProcesses().starts(new FakeProcess().prints("x".repeat(100_000)).exits(0));
  const { text } = withHost({ processes: fakes }, () => processes.run("yes"));
  assert.match(text, /^x{32768}\n\[34464 bytes left out\]\nx{32768}$/);
});

test("a process reads from a pipe", () => {
  const old = new FakeProcess("old").takesInput();
  const fakes = new FakeProcesses().starts(new FakeProcess().after(9).exits(0)).has(old, "repl");
  withHost({ processes: fakes }, () => {
    const process = processes.start("cat", { stdin: processes.PIPE });
    assert.equal(process.write("é\n").kind, "running");
    process.write(new Uint8Array([255]));
    const seen = process.snapshot();
    assert.deepEqual([seen.takesInput, seen.screen], [true, undefined]);
    assert.throws(() => process.resize(30, 90), { reason: "invalid", message: "it has no terminal" });
    process.closeInput();
    assert.equal(process.snapshot().takesInput, false);
    assert.throws(() => process.write("more"), { reason: "invalid", message: /^its standard input is not open/ });
    const opened = processes.open("old");
    assert.deepEqual([opened.write("1").kind, opened.snapshot().takesInput], ["running", true]);
  });
  assert.equal(fakes.started[0].stdin, processes.PIPE);
  const bytes = (text) => new TextEncoder().encode(text);
  assert.deepEqual(fakes.inputs, [
    ["p1", "write", bytes("é\n")],
    ["p1", "write", new Uint8Array([255])],
    ["p1", "resize", 30, 90],
    ["p1", "close"],
    ["p1", "write", bytes("more")],
    ["old", "write", bytes("1")],
  ]);
});

test("a process has a terminal", () => {
  const script = new FakeProcess().shows({ text: "Name:", cursor: { row: 1, column: 6 }, title: "ask" });
  const vi = new FakeProcess("vi").shows({ text: "~", rows: 30, columns: 90, alternate: true });
  const fakes = new FakeProcesses().starts(script.after(1).shows({ text: "Hello" }).exits(0)).has(vi, "vi");
  const plain = { cursor: undefined, title: "", alternate: false, applicationKeys: false };
  withHost({ processes: fakes }, () => {
    const process = processes.start("ask", { stdin: { rows: 10, columns: 40 } });
    const asked = { ...plain, rows: 10, columns: 40, text: "Name:", cursor: { row: 1, column: 6 }, title: "ask" };
    assert.deepEqual(process.snapshot().screen, asked);
    process.write("Ann\r");
    process.closeInput();
    process.resize(20, 60);
    assert.equal(process.wait(9).wake, "ended");
    const { screen, takesInput } = process.snapshot();
    assert.deepEqual([screen, takesInput], [{ ...plain, rows: 20, columns: 60, text: "Hello" }, false]);
    assert.throws(() => process.write("x"), { reason: "invalid", message: "it has ended" });
    const edited = { ...plain, rows: 30, columns: 90, text: "~", alternate: true };
    assert.deepEqual(processes.open("vi").snapshot().screen, edited);
  });
  assert.deepEqual(fakes.started[0].stdin, { rows: 10, columns: 40 });
  assert.deepEqual(fakes.inputs.map(([, ...rest]) => rest).slice(1, 3), [["close"], ["resize", 20, 60]]);
});

test("a chat is told, and waits for several processes", () => {
  const fakes = new FakeProcesses().starts(new FakeProcess("a").after(9).exits(0)).starts(new FakeProcess("b").after(3).exits(1));
  withHost({ processes: fakes }, () => {
    const both = ["slow", "fast"].map((name) => processes.start(name));
    assert.deepEqual([both[0].notify(), both[1].notify({ pattern: "ready", since: 4 })], ["notice_1", "notice_2"]);
    assert.deepEqual(processes.waitAny(both, 1), { wake: "timed-out", process: undefined });
    assert.equal(processes.waitAny(both, 60).process, both[1]);
    assert.equal(processes.waitAny([both[0]], 60).process, both[0]);
  });
  assert.deepEqual(fakes.notices, [["a", {}], ["b", { pattern: "ready", since: 4 }]]);
});

test("a server listens, and another command ends", () => {
  const fakes = new FakeProcesses().starts(new FakeProcess("a").listens(8080, "http://a/")).starts(new FakeProcess("b").after(2).exits(1));
  withHost({ processes: fakes }, () => {
    const [server, other] = ["serve", "fail"].map((name) => processes.start(name));
    assert.deepEqual(server.listening(60), [{ number: 8080, url: "http://a/", expiresAt: undefined }]);
    assert.deepEqual(other.listening(60), []);
    assert.equal(other.snapshot().state.kind, "exited");
  });
});

test("a process without input refuses it", () => {
  const silent = new FakeProcess("p1").takesInput().shows({ text: "?" });
  const stuck = new FakeProcess("p2").failsToTakeInput("failed", "wrote 0 of 1 bytes");
  const fakes = new FakeProcesses().starts(silent).starts(stuck);
  withHost({ processes: fakes }, () => {
    const sort = processes.start("sort", { stdin: "b\na\n" });
    assert.deepEqual([sort.snapshot().takesInput, sort.snapshot().screen], [false, undefined]);
    assert.throws(() => sort.closeInput(), { reason: "invalid", message: /^its standard input is not open/ });
    const process = processes.start("stuck", { stdin: { rows: 24, columns: 80 } });
    const refusal = { reason: "failed", message: "wrote 0 of 1 bytes" };
    for (const ask of [() => process.write("x"), () => process.closeInput(), () => process.resize(30, 90)]) assert.throws(ask, refusal);
  });
  assert.deepEqual(fakes.inputs.map(([, what]) => what), ["close", "write", "close", "resize"]);
});

test("files behave as those of the host", () => {
  const tree = new FakeFiles({ "a.txt": "one\ntwo", "sub/b": new Uint8Array([255]) }).fails("locked", "denied", "no");
  withHost({ files: tree }, () => {
    assert.deepEqual([files.readText("/workspace/a.txt"), files.readText("sub/b")], ["one\ntwo", "\ufffd"]);
    assert.deepEqual(files.listDirectory(), [{ name: "a.txt", kind: "file" }, { name: "sub", kind: "directory" }]);
    assert.deepEqual([files.exists("sub"), files.exists("x")], [true, false]);
    assert.deepEqual(files.skipLines("a.txt", 0, 9), { offset: 7, lines: 1, size: 7 });
    const refusals = { x: "not-found", sub: "not-a-file", "a.txt/x": "not-a-directory", "../x": "outside-workspace", locked: "denied" };
    for (const [path, reason] of Object.entries(refusals)) assert.throws(() => files.readBytes(path), { reason });
    const { version } = files.metadata("a.txt");
    files.write("a.txt", "three", { version });
    const both = [{ path: "new", data: "" }, { path: "a.txt", data: "", version }];
    assert.throws(() => files.writeAll(both), { reason: "changed", index: 1 });
    const gone = [{ path: "sub/b" }, { path: "x" }];
    assert.throws(() => files.changeAll([{ path: "new", data: "" }], gone), { reason: "not-found", index: 2 });
    assert.deepEqual([tree.text("a.txt"), tree.text("new")], ["three", undefined]);
    assert.throws(() => files.remove("a.txt", { version }), { reason: "changed" });
    files.changeAll([{ path: "new", data: "three" }], [{ path: "a.txt", movedTo: 0 }]);
  });
  assert.deepEqual([tree.text("a.txt"), tree.text("new")], [undefined, "three"]);
});

test("files that fit a pattern are found", () => {
  const names = ["a.js", "b.txt", ".hidden/c.js", "src/d.js", "src/deep/e.js", "src/deep/.f.js", "tests/g.js"];
  const tree = new FakeFiles(Object.fromEntries(names.map((name) => [name, ""]))).fails("tests", "denied", "no");
  withHost({ files: tree }, () => {
    for (const [pattern, found] of Object.entries({
      "*.js": ["a.js"],
      "**/*.js": ["a.js", "src/d.js", "src/deep/e.js"],
      "**": ["a.js", "b.txt", "src/d.js", "src/deep/e.js"],
      "src/*/?.js": ["src/deep/e.js"],
      "src/**/deep/*": ["src/deep/e.js"],
      "/workspace/src/*.js": ["/workspace/src/d.js"],
      ".hidden/*": [".hidden/c.js"],
      "**/.*": ["src/deep/.f.js"],
      "src/d.js": ["src/d.js"],
      "*.[jt]*": [],
    })) {
      assert.deepEqual([...files.walk(pattern)], found, pattern);
    }
    assert.throws(() => [...files.walk("nowhere/*")], { reason: "not-found" });
  });
});

test("files are searched", () => {
  const tree = new FakeFiles({
    "a.py": "one\nTwo\nthree",
    "sub/b.rs": "two words\r\n",
    "sub/deep/c.py": "twofold\n",
    ".hidden/d.py": "two",
    binary: "two\0",
  }).fails("locked", "denied", "no");
  withHost({ files: tree }, () => {
    for (const [pattern, options, found] of [
      ["two", {}, ["sub/b.rs:1:two words", "sub/deep/c.py:1:twofold"]],
      ["t.o", { path: "/workspace/sub", maxDepth: 1 }, ["sub/b.rs:1:two words"]],
      ["t.o", { path: "a.py", letterCase: "any", types: ["rs"] }, ["a.py:2:Two"]],
      ["two", { letterCase: "smart", words: true }, ["a.py:2:Two", "sub/b.rs:1:two words"]],
      ["Two", { letterCase: "smart" }, ["a.py:2:Two"]],
      ["^Two$", { before: 1, after: 5 }, ["a.py:1:one", "a.py:2:Two", "a.py:3:three"]],
      ["two", { hidden: true, types: ["py"] }, [".hidden/d.py:1:two", "sub/deep/c.py:1:twofold"]],
      ["two", { globs: ["*.{rs,md}"] }, ["sub/b.rs:1:two words"]],
      ["two", { globs: ["sub/**/c.*"] }, ["sub/deep/c.py:1:twofold"]],
      ["two", { globs: ["sub/", "!deep"] }, ["sub/b.rs:1:two words"]],
      ["two", { globs: ["/*"] }, ["sub/b.rs:1:two words", "sub/deep/c.py:1:twofold"]],
      [".", { literal: true }, []],
      ["two", { width: 3 }, ["sub/b.rs:1:two…", "sub/deep/c.py:1:two…"]],
      ["two", { skip: 1, max: 1 }, ["sub/deep/c.py:1:twofold"]],
    ]) {
      const seen = files.search(pattern, options).files;
      const lines = seen.flatMap(({ path, lines }) => lines.map((one) => `${path}:${one.number}:${one.text}${one.isCut ? "…" : ""}`));
      assert.deepEqual(lines, found, `${pattern} ${JSON.stringify(options)}`);
    }
    assert.throws(() => files.search("("), { reason: "invalid", message: /^the pattern is not valid: / });
    assert.throws(() => files.search("two", { path: "nowhere" }), { reason: "not-found" });
    assert.throws(() => files.search("two", { path: "locked" }), { reason: "denied", message: "no" });
  });
});

test("a search has pages", () => {
  withHost({ files: new FakeFiles({ a: "x\nx\ny\n", b: "x", c: "" }) }, () => {
    const lines = [1, 2].map((number) => ({ number, text: "x", isMatch: true, isCut: false }));
    const numbers = { totalFiles: 2, totalMatches: 3, searched: 3, unreadable: 0 };
    assert.deepEqual(files.search("x", { max: 2 }), { files: [{ path: "a", matches: 2, lines }], ...numbers, more: true });
    assert.equal(files.search("x", { skip: 2, max: 1 }).more, false);
    const second = { files: [{ path: "b", matches: 1, lines: [] }], ...numbers, more: false };
    assert.deepEqual(files.search("x", { filesOnly: true, skip: 1 }), second);
  });
});

test("files are found by their facts", () => {
  withHost({ files: new FakeFiles({ "a.py": "12", "sub/b.py": "1", "sub/c.txt": "" }) }, () => {
    const { modifiedMs } = files.metadata("a.py");
    for (const [options, found] of [
      [{}, ["a.py", "sub/b.py", "sub/c.txt"]],
      [{ path: "sub", globs: ["*.py"] }, ["sub/b.py"]],
      [{ kind: "file", minSize: 1, maxSize: 1 }, ["sub/b.py"]],
      [{ kind: "symlink" }, []],
      [{ sinceMs: modifiedMs, untilMs: modifiedMs + 1, newestFirst: true }, ["a.py", "sub/b.py", "sub/c.txt"]],
      [{ untilMs: modifiedMs }, []],
      [{ sinceMs: modifiedMs + 1 }, []],
      [{ skip: 1, max: 1 }, ["sub/b.py"]],
    ]) {
      assert.deepEqual(files.find(options).files.map(({ path }) => path), found, JSON.stringify(options));
    }
    const first = { path: "a.py", kind: "file", size: 2, modifiedMs };
    assert.deepEqual(files.find({ max: 1 }), { files: [first], total: 3, unreadable: 0, more: true });
  });
});

test("files are shared", () => {
  withHost({ files: new FakeFiles({ "out/a.txt": "one", b: "" }) }, () => {
    const { url, ...shared } = files.share("out/a.txt", { lifetimeSecs: 60 });
    assert.deepEqual(shared, { expiresMs: 60_000, name: "a.txt", size: 3, mediaType: "text/plain" });
    assert.match(url, /^https:\/\/.*\/a\.txt$/);
    assert.equal(files.share("b").mediaType, "application/octet-stream");
    assert.throws(() => files.share("out"), { reason: "not-a-file" });
    assert.throws(() => files.share("c"), { reason: "not-found" });
    assert.throws(() => files.share("b", { lifetimeSecs: 59 }), { reason: "invalid" });
  });
});

test("requests get the responses of the test", async () => {
  const network = new FakeHttp().responds("https://a.example/x", { json: { k: 1 } }).fails("https://b.example/");
  await withHost({ http: network }, async () => {
    const refused = await http.get("https://c.example/").catch((error) => error);
    assert.equal(refused.kind, "denied");
    assert.match(refused.message, /no answer for GET https:\/\/c.example\/; there is one for GET https:\/\/a.example\/x and GET/);
    const wrong = { name: "Missing", message: "no answer for POST https://a.example/x; there is one for GET" };
    await assert.rejects(http.post("https://a.example/x"), wrong);
    const again = await http.get("HTTPS://A.example/x");
    assert.equal(again.status, 200);
    const { status, json } = await http.get("https://a.example/x", { headers: { Accept: "*/*" } });
    assert.deepEqual([status, json()], [200, { k: 1 }]);
    await assert.rejects(http.get("https://b.example/"), { kind: "unavailable" });
    await assert.rejects(http.get("a.example"), { kind: "failed", message: /^"a.example" is not an absolute URL/ });
  });
  assert.deepEqual(network.requests[3].headers, { accept: "*/*" });
});

tool({
  name: "half",
  description: "Halves.",
  input: { number: t.integer() },
  run({ number }) {
    if (number % 2 !== 0) throw new Failed(`${number} is odd`);
    return { half: number / 2, unit: settings.get("unit", "none") };
  },
});

tool({
  name: "read",
  description: "Reads a file, and sends it with a secret.",
  input: { path: t.string(), method: t.string().default("GET"), catches: t.boolean().default(false) },
  async run({ path, method, catches }) {
    try {
      const response = await http.request(method, "https://a.example", { headers: { key: settings.secret("key") } });
      return `${files.readText(path)} ${response.status} ${response.text}`;
    } catch (error) {
      if (!catches) throw error;
      return `caught ${error.name}`;
    }
  },
});

tool({
  name: "broken",
  description: "Throws.",
  run() {
    return undefined.foo;
  },
});

async function withCases(cases) {
  const directory = mkdtempSync(join(tmpdir(), "cases-"));
  try {
    const path = join(directory, "cases.json");
    writeFileSync(path, JSON.stringify({ cases: cases.map((one) => ({ name: "one", tool: "half", ...one })) }));
    return await runCases(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("cases that fit", async () => {
  const right = { arguments: { number: 4 }, settings: { unit: "m" }, reply: { half: 2, unit: "m" } };
  const wrong = { arguments: { number: 3 }, error: { kind: "failed", message: "is odd" } };
  assert.equal(await withCases([right, wrong]), 2);
});

test("a case gives files, secrets and answers", async () => {
  const given = {
    tool: "read",
    arguments: { path: "src/a.txt" },
    files: { "src/a.txt": "text" },
    secrets: { key: "k" },
    http: [
      { request: { url: "https://a.example" }, answer: { status: 404, body: "none" } },
      { request: { method: "POST", url: "https://a.example/" }, answer: { json: { a: 1 } } },
    ],
  };
  const post = { ...given, arguments: { path: "src/a.txt", method: "POST" }, text: 'text 200 {"a":1}' };
  const missing = { ...given, files: {}, error: { kind: "failed", message: "no such file" } };
  assert.equal(await withCases([{ ...given, text: "text 404 none" }, post, missing]), 3);
  for (const catches of [false, true]) {
    const put = { ...given, arguments: { path: "src/a.txt", method: "PUT", catches }, text: "caught Missing" };
    const message = "one: no answer for PUT https://a.example; there is one for GET and POST";
    await assert.rejects(withCases([put]), { message });
  }
});

test("cases have the surroundings of the test", async () => {
  const half = { arguments: { number: 4 }, reply: { half: 2, unit: "km" } };
  assert.equal(await withHost({ settings: { unit: "km" } }, () => withCases([half])), 1);
  const read = { tool: "read", arguments: { path: "a" }, text: "content 200 " };
  const fields = { files: new FakeFiles({ a: "content" }), secrets: { key: "k" } };
  const network = new FakeHttp().responds("https://a.example");
  assert.equal(await withHost({ ...fields, http: network }, () => withCases([read])), 1);
  await assert.rejects(withCases([{ ...read, secrets: { key: "k" } }]), { message: /^one: the test has no http: give some/ });
});

test("an exception is told with its place", async () => {
  const message = /^one: it failed with failed: TypeError: Cannot read properties of undefined .* \(testing.test.js:\d+\)$/;
  await assert.rejects(withCases([{ tool: "broken", text: "" }]), { message });
});

test("cases that differ", async () => {
  for (const [one, problem] of [
    [{ arguments: { number: 4 }, reply: { half: 3 } }, 'one: the reply is {"half":2,"unit":"none"}'],
    [{ arguments: { number: 4 }, error: { kind: "failed" } }, "one: it replied: "],
    [{ arguments: { number: 3 }, reply: {} }, "one: it failed with failed: 3 is odd"],
    [{ arguments: { number: 3 }, error: { kind: "denied" } }, "one: the error is failed: 3 is odd"],
    [{ arguments: { number: 4 }, is_error: true, text: "" }, "one: is_error is false"],
    [{ arguments: { number: 4 }, text: "", file: {} }, "one: unknown field file; the fields are name, tool"],
    [{ arguments: { number: 4 } }, "one: it must have one of reply, text and error"],
  ]) {
    await assert.rejects(withCases([one]), (error) => error.message.includes(problem));
  }
});

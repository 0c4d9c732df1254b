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
  });
  assert.deepEqual([tree.text("a.txt"), tree.text("new")], ["three", undefined]);
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

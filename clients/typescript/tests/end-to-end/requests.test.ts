// Every request of the client, and webhooks and the approval hook, with a real server.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import test, { type TestContext } from "node:test";

import { answerApproval, parseApproval, Refused, type Reply, verify } from "toolhost-client";

import { root, Server, skip, until } from "./world.js";

const SECRET = "a-secret-of-webhooks";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

const refused = (code: string) => (error: unknown) => error instanceof Refused && error.code === code;
const output = (reply: Reply) => (reply.structured as { output: string }).output;

test("files", { skip }, async (t) => {
  const server = await Server.start(t);
  const { files } = server.chat("c");
  const etag = await files.put("in/a b#.txt", "hello");
  const got = await files.get("in/a b#.txt");
  assert.equal(got.headers.get("etag"), etag);
  assert.equal(await got.text(), "hello");
  assert.equal((await files.get("in/a b#.txt", { headers: { "if-none-match": etag } })).status, 304);
  assert.equal(await (await files.get("in/a b#.txt", { headers: { range: "bytes=1-2" } })).text(), "el");
  await assert.rejects(files.put("in/a b#.txt", "other", { ifMatch: null }), refused("file_changed"));
  const next = await files.put("in/a b#.txt", new TextEncoder().encode("other"), { ifMatch: etag });
  assert.notEqual(next, etag);
  await files.put("in/stream", new Blob(["a".repeat(1e6)]).stream());
  await files.upload(`${server.workspace}/in/copy`, join(root, "clients/typescript/package.json"));
  const entries = await all(files.list("in"));
  assert.deepEqual(
    entries.map(({ name, kind }) => [name, kind]),
    [
      ["a b#.txt", "file"],
      ["copy", "file"],
      ["stream", "file"],
    ],
  );
  assert.equal(entries[2]?.size, 1e6);
  assert.deepEqual(
    (await all(files.list())).map(({ name }) => name),
    ["in"],
  );
  const archive = Buffer.from(await (await files.archive("in", "zip")).arrayBuffer());
  assert.equal(archive.subarray(0, 2).toString(), "PK");
  await files.delete("in/stream", { ifMatch: (await files.get("in/stream")).headers.get("etag")! });
  await files.delete("in", { recursive: true });
  await assert.rejects(files.get("in/copy"), refused("unknown_file"));
  assert.deepEqual(await all(files.list()), []);
});

test("calls, processes, ports and links", { skip }, async (t) => {
  const server = await Server.start(t);
  const chat = server.chat("c");
  assert.ok((await chat.tools<{ name: string }>()).some(({ name }) => name === "execute"));
  assert.ok(
    (await chat.tools<{ name: string }>("openai-responses", { strict: true })).some(
      ({ name }) => name === "apply_patch",
    ),
  );
  const started = await chat.call(
    "1.0",
    "execute",
    '{"command": "read a; echo got $a; exec sleep 1000", "run_in_background": true, "keep_input_open": true}',
  );
  const [process] = started.processes;
  assert.ok(process, JSON.stringify(started));
  assert.equal((await chat.process(process)).takes_input, true);
  await chat.input(process, { text: "yes\n" });
  assert.equal(
    (
      await until(async () => {
        const read = await chat.output(process);
        return read.length > 0 && read;
      })
    ).text,
    "got yes\n",
  );
  assert.deepEqual(
    (await chat.processes({ running: true })).map(({ id, call }) => [id, call]),
    [[process, "1.0"]],
  );
  await chat.call("1.1", "read_file", { path: "none" });
  const calls = await all(chat.calls({ state: "finished" }));
  assert.deepEqual(
    calls.map(({ id, success }) => [id, success]),
    [
      ["1.1", false],
      ["1.0", true],
    ],
  );
  const notice = await chat.notify(process, { on: "exit" });
  assert.equal((await chat.notices())[0]?.id, notice.id);
  await chat.forget(notice.id);
  assert.deepEqual(await chat.notices(), []);
  await chat.signal(process, "kill");
  await until(async () => (await chat.process(process)).status === "exited");

  await assert.rejects(chat.call("1.0", "execute", { command: "other" }), refused("input_mismatch"));
  await assert.rejects(chat.get("2.0"), refused("unknown_call"));
  assert.equal(await chat.cancel("2.0"), undefined);
  assert.deepEqual(await chat.get("2.0"), { id: "2.0", state: "cancelled", tombstone: true });
  await assert.rejects(chat.call("2.0", "execute", { command: "true" }), (error: Refused) => error.mayHaveRun);
  assert.equal((await chat.call("3.0", "no_such_tool", {})).error?.kind, "unknown_tool");

  await chat.files.put("report.txt", "a report");
  const { url, name } = await chat.link("report.txt", 3600);
  assert.equal(name, "report.txt");
  assert.equal(await (await fetch(url)).text(), "a report");
  assert.deepEqual(await chat.ports(), []);
  await chat.bind("default");
  const last = await chat.call("4.0", "execute", { command: "exec sleep 1000", run_in_background: true });
  assert.deepEqual(
    (await chat.end()).map(({ id }) => id),
    last.processes,
  );
});

/** Starts a server that answers each body. */
async function receiver(
  t: TestContext,
  answer: (body: string, headers: IncomingMessage["headers"]) => string,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.end(answer(Buffer.concat(chunks).toString(), request.headers));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("webhooks and the approval hook", { skip }, async (t) => {
  const told: unknown[] = [];
  const webhook = await receiver(t, (body, headers) => {
    const { type, data } = verify(SECRET, headers, body);
    assert.throws(() => verify(SECRET, headers, `${body} `));
    told.push([type, data.chat, data.told?.exit_code]);
    return "";
  });
  const approval = await receiver(t, (body) => {
    const { tool, arguments: given } = parseApproval(body);
    const { command } = given as { command: string };
    return answerApproval(tool === "execute" && command !== "forbidden" ? undefined : "not at night");
  });
  const configuration = `approval_url = "${approval}/"\n[webhooks.chat]\nurl = "${webhook}/"\nsecret_file = "webhook.secret"\n`;
  const server = await Server.start(t, [], configuration, { "webhook.secret": SECRET });
  const chat = server.chat("c");
  const reply = await chat.call("1.0", "execute", { command: "echo yes; exit 3", run_in_background: true });
  await chat.notify(reply.processes[0]!, { on: "exit" });
  await until(() => told.length > 0);
  assert.deepEqual(told[0], ["process.exited", "c", 3]);
  const no = await chat.call("1.1", "execute", { command: "forbidden" });
  assert.match(JSON.stringify(no.content), /not at night/);
  assert.equal(output(await chat.call("1.2", "execute", { command: "echo yes" })), "yes\n");
});

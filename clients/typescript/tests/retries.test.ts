// When a request is repeated, and when it is not.

import assert from "node:assert/strict";
import test from "node:test";

import { Refused, Toolhost, Unanswered } from "toolhost-client";

import { json, problem, reply, serve } from "./server.js";

/** No pause is long: the growing pauses begin with a tenth of a second. */
const call = (url: string, options = {}) =>
  new Toolhost(url, "token", options).chat("c 1").call("1.0", "execute", { command: "true" });

test("a call is repeated with the same id until its reply comes", async (t) => {
  const past = "Sun, 06 Nov 1994 08:49:37 GMT";
  const { url, arrived } = await serve(t, (response, _, number) => {
    if (number === 0) return problem(response, 429, "busy", { "retry-after": "0" });
    if (number === 1) return problem(response, 503, "shutting_down", { "retry-after": past });
    if (number === 2) return response.writeHead(504, { "content-type": "text/html" }).end("<h1>Gateway Time-out</h1>");
    if (number === 3) return response.destroy();
    if (number === 4) return response.writeHead(200, { "content-length": 100 }).write("{", () => response.destroy());
    if (number === 5) return response.writeHead(404, { "content-type": "text/html" }).end("a page of a proxy");
    if (number === 6) return response.writeHead(200, { "content-type": "text/html" }).end("a page of a proxy");
    json(response, 200, reply("1.0"));
  });
  const { content } = await call(url);
  assert.deepEqual(content, [{ type: "text", text: "hello" }]);
  assert.equal(arrived.length, 8);
  for (const request of arrived) {
    assert.equal(`${request.method} ${request.url}`, "PUT /v1/chats/c%201/calls/1.0");
    assert.deepEqual(JSON.parse(request.body), { tool: "execute", arguments: { command: "true" } });
    assert.equal(request.headers.authorization, "Bearer token");
  }
});

test("a final problem is not repeated", async (t) => {
  const { url, arrived } = await serve(t, (response) => problem(response, 409, "input_mismatch"));
  await assert.rejects(call(url), (error: Refused) => {
    assert.deepEqual([error.code, error.status, error.detail], ["input_mismatch", 409, "the reason"]);
    return error instanceof Refused && !error.mayHaveRun;
  });
  assert.equal(arrived.length, 1);
});

test("Retry-After is kept", async (t) => {
  const { url } = await serve(t, (response, _, number) => {
    if (number === 0) return problem(response, 429, "busy", { "retry-after": "1" });
    json(response, 200, reply("1.0"));
  });
  const began = performance.now();
  await call(url);
  assert.ok(performance.now() - began >= 1000);
});

test("a request without an answer is repeated", async (t) => {
  const { url, arrived } = await serve(t, (response, _, number) => {
    if (number > 0) json(response, 200, reply("1.0"));
  });
  await call(url, { readTimeout: 300 });
  assert.ok(arrived.length >= 2);
});

test("a request is given up when nothing answers for too long", async (t) => {
  const { url } = await serve(t, (response) => response.destroy());
  await assert.rejects(call(url, { patience: 200 }), Unanswered);
});

test("a request follows the host that has the chat, and comes back from one that is lost", async (t) => {
  const other = await serve(t, (response, _, number) =>
    number === 0 ? response.destroy() : json(response, 200, reply("1.0")),
  );
  const { url } = await serve(t, (response) =>
    problem(response, 421, "other_host", { "toolhost-host": `${other.url}/` }),
  );
  await call(url);
  assert.equal(other.arrived.length, 2);
  assert.equal(other.arrived[0]?.headers.authorization, "Bearer token");
});

test("a signal ends the waiting", async (t) => {
  const { url } = await serve(t, () => {});
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(new Toolhost(url).chat("c").call("1", "execute", {}, { signal }), reason);
  const later = new AbortController();
  const waiting = new Toolhost(url).chat("c").call("1", "execute", {}, { signal: later.signal });
  later.abort(reason);
  await assert.rejects(waiting, reason);
});

test("a request that is not idempotent is repeated only if it did not run", async (t) => {
  const { url, arrived } = await serve(t, (response, _, number) => {
    if (number === 0) return problem(response, 429, "busy", { "retry-after": "0" });
    problem(response, 500, "internal");
  });
  await assert.rejects(new Toolhost(url).chat("c").signal("p", "interrupt"), Unanswered);
  assert.equal(arrived.length, 2);
});

test("input has an id, so that its repeat does nothing", async (t) => {
  const { url, arrived } = await serve(t, (response, _, number) =>
    number === 0 ? response.destroy() : json(response, 200, { id: "p", status: "running" }),
  );
  await new Toolhost(url).chat("c").input("p", { text: "yes\n" });
  const [first, second] = arrived.map(({ body }) => JSON.parse(body));
  assert.equal(first.text, "yes\n");
  assert.ok(first.id);
  assert.deepEqual(first, second);
});

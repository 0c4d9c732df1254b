// The events of a chat.

import assert from "node:assert/strict";
import test from "node:test";

import { type ChatEvent, Refused, Toolhost } from "toolhost-client";

import { problem, serve } from "./server.js";

const event = (id: string, type: string, data: unknown) =>
  `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const head = { "content-type": "text/event-stream" };
const greeting = ": listening\nretry: 10\n\n";
const output = (offset: number) => ({ process: "p", offset, length: 1, text: "ä" });

async function all(events: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

test("the stream resumes after the last event, and ends with the chat", async (t) => {
  const bytes = Buffer.from(greeting + event("1", "output", output(0)) + event("2", "output", output(1)).slice(0, -2));
  const { url, arrived } = await serve(t, (response, _, number) => {
    if (number === 2) return problem(response, 503, "shutting_down", { "retry-after": "0" });
    if (number === 3) return response.writeHead(200, { "content-type": "text/html" }).end("a page of a proxy");
    response.writeHead(200, head);
    // The connection is cut in the middle of an event.
    if (number === 0) return response.write(bytes, () => response.destroy());
    if (number === 1) return response.end(greeting + event("2", "output", output(1)));
    response.end(
      greeting + event("3", "reset", { reason: "unknown_id" }) + event("4", "chat_ended", { chat: "c" }) + "ignored",
    );
  });
  const found = await all(new Toolhost(url, "token").chat("c").events({ after: "0", call: "1.0", output: true }));
  assert.deepEqual(found, [
    { type: "output", id: "1", data: output(0) },
    { type: "output", id: "2", data: output(1) },
    { type: "reset", id: "3", data: { reason: "unknown_id" } },
    { type: "chat_ended", id: "4", data: { chat: "c" } },
  ]);
  assert.deepEqual(
    arrived.map(({ headers }) => headers["last-event-id"]),
    ["0", "1", "2", "2", "2"],
  );
  assert.equal(arrived[0]?.url, "/v1/chats/c/events?call=1.0&output=true");
});

test("a silent connection is lost", async (t) => {
  const { url, arrived } = await serve(t, (response, _, number) => {
    response.writeHead(200, head).write(greeting);
    if (number > 0) response.end(event("1", "chat_ended", { chat: "c" }));
  });
  await all(new Toolhost(url).chat("c").events({ silence: 300 }));
  assert.ok(arrived.length >= 2);
});

test("an abort and a break end the stream", async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeHead(200, head).write(greeting + event("1", "output", output(0)));
  });
  const chat = new Toolhost(url).chat("c");
  const stop = new AbortController();
  for await (const _ of chat.events({ signal: stop.signal })) stop.abort();
  for await (const _ of chat.events()) break;
});

test("a refusal ends the stream", async (t) => {
  const { url } = await serve(t, (response) => problem(response, 401, "wrong_token"));
  await assert.rejects(all(new Toolhost(url).chat("c").events()), Refused);
});

// A server for tests: it answers the requests in turn, and keeps what it got.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A request as it arrived. */
export interface Arrived {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** Answers one request, with the number of it. */
export type Answering = (response: ServerResponse, request: Arrived, number: number) => void;

/** Starts a server for the time of a test. */
export async function serve(test: TestContext, answering: Answering): Promise<{ url: string; arrived: Arrived[] }> {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", url = "", headers } = request;
    const got = { method, url, headers, body: Buffer.concat(chunks).toString() };
    arrived.push(got);
    answering(response, got, arrived.length - 1);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrived };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export function problem(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
): void {
  const body = { type: `urn:toolhost:problem:${code}`, title: code, status, code, detail: "the reason" };
  json(response, status, body, { "content-type": "application/problem+json", ...headers });
}

/** A reply of a call. */
export function reply(id: string, text = "hello"): Record<string, unknown> {
  const content = [{ type: "text", text }];
  return {
    id,
    tool: "execute",
    state: "finished",
    is_error: false,
    content,
    processes: [],
    duration_ms: 1,
    queued_ms: 0,
  };
}

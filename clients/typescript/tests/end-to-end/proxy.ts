// A proxy in front of Toolhost that fails in the ways of networks.

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Fails a request, or returns false to pass it on. */
export type Fate = (request: IncomingMessage, response: ServerResponse, number: number) => boolean;

/** Starts a proxy. `cut` ends the connections that are open. */
export async function proxy(test: TestContext, to: string, fate: Fate): Promise<{ url: string; cut: () => void }> {
  let number = 0;
  const server = createServer((from, answer) => {
    if (fate(from, answer, number++)) return void from.resume();
    const passed = request(new URL(from.url!, to), { method: from.method, headers: from.headers }, (response) => {
      answer.writeHead(response.statusCode!, response.headers);
      answer.flushHeaders();
      response.pipe(answer);
      response.on("error", () => answer.destroy());
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    from.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  test.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut: () => server.closeAllConnections() };
}

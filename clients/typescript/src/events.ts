// The events of a chat: a stream that resumes where its connection was lost.

import { setTimeout as sleep } from "node:timers/promises";

import { EventSourceParserStream } from "eventsource-parser/stream";

import type { Connection } from "./http.js";
import type { ChatEvent } from "./types.js";

export interface EventOptions {
  /** The id of the last event that the caller has. */
  after?: string;
  /** Keeps only this call and the processes that it started. */
  call?: string;
  /** Whether to send `output` and `gap`. */
  output?: boolean;
  /** Ends the iterator. */
  signal?: AbortSignal;
  /** The silence in milliseconds after which the connection counts as lost. The server sends a comment every 15 s. */
  silence?: number;
}

/**
 * Yields the events of a chat until `chat_ended`, the abort of the signal, or a `break`. If events were lost, it yields
 * a `reset`. Ignore events that you do not know.
 */
export async function* events(
  connection: Connection,
  path: string,
  options: EventOptions,
): AsyncGenerator<ChatEvent, void> {
  const { call, output, signal, silence = 45_000 } = options;
  let last = options.after;
  let pause = 1000;
  while (!signal?.aborted) {
    const lost = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const contact = () => timer?.refresh();
    try {
      const body = await connection.send(
        {
          method: "GET",
          path,
          query: { call, output },
          headers: { accept: "text/event-stream", ...(last !== undefined && { "last-event-id": last }) },
          signal: signal ? AbortSignal.any([signal, lost.signal]) : lost.signal,
          readTimeout: silence,
        },
        streamOf,
      );
      timer = setTimeout(() => lost.abort(), silence);
      const parser = new EventSourceParserStream({
        onRetry: (milliseconds) => (pause = milliseconds),
        onComment: contact,
      });
      for await (const message of body.pipeThrough(new TextDecoderStream()).pipeThrough(parser)) {
        contact();
        last = message.id ?? last;
        const event = { type: message.event, id: last ?? "", data: JSON.parse(message.data) } as ChatEvent;
        yield event;
        if (event.type === "chat_ended") return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // `fetch` reports a lost connection as a TypeError.
      if (!(error instanceof TypeError) && !lost.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
    }
    await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the stream of an answer. A page of a proxy is a failure, and the request is repeated. */
function streamOf({ headers, body }: Response) {
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) {
    throw new Error("the answer is no stream of events");
  }
  return body;
}

// A client of Toolhost's HTTP API: what a chat server needs of it, and no more.

import { setTimeout as sleep } from "node:timers/promises";

// How often a request is repeated that got no answer, at growing distances: about half a minute in all.
const REPEATS = 8;

export type Dialect = "openai" | "openai-responses" | "anthropic";

/** One part of a reply. */
export type Part =
  | { type: "text"; text: string }
  | { type: "json"; json: unknown }
  | { type: "image" | "audio"; media_type: string; data: string }
  | { type: "document"; uri: string; media_type?: string; data?: string };

/** What came of a call. */
export interface Reply {
  id: string;
  state: "finished" | "failed" | "cancelled" | "unknown";
  is_error: boolean;
  content: Part[];
}

/** Toolhost did not run a call, and says why. `code` is for programs. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    detail: string,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** The tools of one Toolhost, for one chat. */
export class Toolhost {
  constructor(
    private url: string,
    private token: string,
    private chat: string,
  ) {}

  /** The definitions, to be passed on to the model. */
  tools<T>(dialect: Dialect): Promise<T[]> {
    return this.send("GET", `/v1/tools?format=${dialect}`);
  }

  /**
   * Runs a call once, however often it is asked for, and returns its reply. The id is the one that the model's provider gave
   * the call. Aborting only detaches; `cancel` ends the call.
   */
  call(id: string, tool: string, args: unknown, signal?: AbortSignal): Promise<Reply> {
    return this.send("PUT", this.path(id), { tool, arguments: args }, signal);
  }

  /** Ends a call with all that it started. If it has not begun yet, it never will. */
  async cancel(id: string): Promise<void> {
    await this.send("DELETE", this.path(id));
  }

  private path(id: string): string {
    return `/v1/chats/${encodeURIComponent(this.chat)}/calls/${encodeURIComponent(id)}`;
  }

  private async send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      let response: Response, text: string;
      try {
        response = await fetch(this.url + path, {
          method,
          headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
          body: body === undefined ? null : JSON.stringify(body),
          signal: signal ?? null,
        });
        text = await response.text();
      } catch (error) {
        // Did it run? Nobody has to know: the same request again waits for it, or gets the reply that was saved.
        if (signal?.aborted || attempt === REPEATS) throw error;
        await sleep(100 * 2 ** attempt, undefined, { signal });
        continue;
      }
      const wait = response.headers.get("retry-after");
      if ((response.status === 429 || response.status === 503) && wait !== null) {
        await sleep(1000 * Number(wait), undefined, { signal });
        continue;
      }
      const json = text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
      if (!response.ok) throw new Refused(json?.code ?? `${response.status}`, json?.detail ?? text);
      return json as T;
    }
  }
}

/** What a model reads of a reply. Images and sounds are named only; see the provider's documents for how to pass them on. */
export function textOf(reply: Reply): string {
  const text = (part: Part): string => {
    switch (part.type) {
      case "text":
        return part.text;
      case "json":
        return JSON.stringify(part.json);
      case "document":
        return `[${part.uri}]`;
      default:
        return `[${part.type}, ${part.media_type}]`;
    }
  };
  return reply.content.map(text).join("\n");
}

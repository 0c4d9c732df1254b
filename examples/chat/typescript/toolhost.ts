// A client of Toolhost's HTTP API: what a chat server needs of it, and no more.

import { setTimeout as sleep } from "node:timers/promises";

// A request that got no reply is repeated. It is given up after this many failures in a row, which is about a minute,
const FAILURES = 12;
// or after this many answers that say when to come back, which is five minutes if they say a second,
const REFUSALS = 300;
// or after this many milliseconds: a call may take an hour.
const PATIENCE = 4_000_000;
// How many milliseconds to wait for a reply before asking again: the connection may be dead, and nobody would notice.
const READING = 60_000;
// What took this many milliseconds to fail was no failure to connect: most likely the call runs.
const LONG = 20_000;

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

/** A problem document. */
interface Problem {
  code: string;
  detail?: string;
}

/**
 * Toolhost refuses the request, and repeating it would not help. `code` is for programs. A call did not run, unless the code is
 * `cancelled` or `gone`: then it may have.
 */
export class Refused extends Error {
  readonly code: string;

  constructor({ code, detail }: Problem) {
    super(`${code}: ${detail ?? ""}`);
    this.code = code;
  }
}

/** There was no reply for too long. The call may have run, or run now: the same request, sent later, gets its reply. */
export class Unanswered extends Error {}

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
   * Runs a call once, however often it is asked for, and returns its reply. The arguments may be the text that a model wrote. The id must be unique in the chat, and be the same
   * again after a restart. Aborting only detaches; `cancel` ends the call.
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
    const deadline = performance.now() + PATIENCE;
    for (let failures = 0, refusals = 0; ; ) {
      const begun = performance.now();
      const timeout = AbortSignal.timeout(READING);
      let reason: unknown, wait: number | undefined;
      try {
        const response = await fetch(this.url + path, {
          method,
          headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
          body: body === undefined ? null : JSON.stringify(body),
          redirect: "manual",
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        });
        const text = await response.text();
        if (response.ok) return (text ? JSON.parse(text) : undefined) as T;
        const problem = finalProblem(response, text);
        if (problem) throw new Refused(problem);
        reason = `status ${response.status}`;
        wait = retryAfter(response);
      } catch (error) {
        if (error instanceof Refused || signal?.aborted) throw error;
        reason = error;
      }
      // Did it run? Nobody has to know: the same request again waits for it, or gets the reply that was saved.
      const now = performance.now();
      if (wait !== undefined) refusals += 1;
      failures = wait !== undefined || now - begun > LONG ? 0 : failures + 1;
      if (failures >= FAILURES || refusals >= REFUSALS || now >= deadline) {
        throw new Unanswered(`${method} ${path}: ${reason}`, { cause: reason });
      }
      // Not everybody at the same moment.
      const pause = Math.min(100 * 2 ** failures, 10_000) * (0.5 + Math.random() / 2);
      await sleep((wait ?? 0) + pause, undefined, { signal });
    }
  }
}

/** What Toolhost says is wrong with the request. Nothing: it may go well later, or a proxy has answered instead. */
function finalProblem({ status, headers }: Response, text: string): Problem | undefined {
  const kind = headers.get("content-type") ?? "";
  if (status < 400 || status >= 500 || status === 408 || status === 429) return undefined;
  if (!kind.startsWith("application/problem+json")) return undefined;
  const problem = JSON.parse(text);
  return "code" in problem ? problem : undefined;
}

/** After how many milliseconds to come back, a minute at most. The header has a number of seconds or a date. */
function retryAfter({ headers }: Response): number | undefined {
  const header = headers.get("retry-after") ?? "";
  const wait = /^\d+$/.test(header) ? 1000 * Number(header) : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), 60_000);
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

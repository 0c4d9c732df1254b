// Requests to Toolhost: authentication, retries, problem documents, and hosts that have the chat.

import { setTimeout as sleep } from "node:timers/promises";

import { type Problem, Refused, Unanswered } from "./errors.js";

/** Settings of the connection. All times are in milliseconds. */
export interface ConnectionOptions {
  /** The time to wait for an answer before the request is repeated: a minute. */
  readTimeout?: number;
  /** The time without any contact after which a request is given up: five minutes. */
  patience?: number;
  /** The time after which a request is given up in any case: 4,000 seconds, because a call may take an hour. */
  deadline?: number;
  /** A replacement for the global `fetch`, for example with a dispatcher for a Unix socket. */
  fetch?: typeof fetch;
}

/** One request. */
export interface Outgoing {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** A value that is sent as JSON. */
  json?: unknown;
  body?: Blob | ReadableStream<Uint8Array>;
  signal?: AbortSignal | undefined;
  /** Whether a request that may have run can be repeated. Every request is repeated after a refusal. */
  idempotent?: boolean;
  readTimeout?: number;
}

/** An attempt that takes this long has reached the server. */
const CONTACT = 20_000;
const LONGEST_PAUSE = 10_000;
const LONGEST_RETRY_AFTER = 60_000;

/** A connection to Toolhost. */
export class Connection {
  private readonly headers: Record<string, string>;
  private readonly options: Required<ConnectionOptions>;

  constructor(
    private readonly url: string,
    token: string | undefined,
    options: ConnectionOptions = {},
  ) {
    this.headers = token ? { authorization: `Bearer ${token}` } : {};
    this.options = { readTimeout: 60_000, patience: 300_000, deadline: 4_000_000, fetch, ...options };
  }

  /** Returns the answer as JSON, or `undefined` for an answer without a body. */
  json<T>(request: Outgoing): Promise<T> {
    return this.send(request, async (response) => {
      const text = await response.text();
      return (text ? JSON.parse(text) : undefined) as T;
    });
  }

  /**
   * Sends a request until `read` has read a good answer. Throws `Refused` for a final problem, `Unanswered` if no
   * answer comes, and the reason of the signal if it aborts.
   */
  async send<T>(request: Outgoing, read: (response: Response) => T | Promise<T>): Promise<T> {
    const { signal, idempotent = true } = request;
    const began = performance.now();
    let contact = began;
    let base = this.url;
    let afterLostAnswer = false;
    for (let failures = 0; ;) {
      const attempt = performance.now();
      let failure: Failure;
      try {
        return await this.attempt(base, request, read);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof Refused) throw Object.assign(error, { afterLostAnswer });
        failure = error instanceof Failure ? error : Failure.ofConnection(error);
      }
      afterLostAnswer ||= !failure.ranNothing;
      const now = performance.now();
      if (now - attempt > CONTACT) [contact, failures] = [now, 0];
      const isOver = now - contact > this.options.patience || now - began > this.options.deadline;
      if (isOver || !(idempotent || failure.ranNothing)) {
        throw new Unanswered(`${request.method} ${request.path}: ${failure.message}`, {
          cause: failure.cause ?? failure,
        });
      }
      // The first redirection is followed at once. A host that fails is forgotten.
      const isFollowed = failure.host !== undefined && base === this.url;
      base = failure.host ?? this.url;
      if (isFollowed) continue;
      const pause = Math.min(100 * 2 ** failures, LONGEST_PAUSE) * (0.5 + Math.random() / 2);
      if (failure.retryAfter === undefined) failures += 1;
      await sleep((failure.retryAfter ?? 0) + pause, undefined, { signal });
    }
  }

  private async attempt<T>(base: string, request: Outgoing, read: (response: Response) => T | Promise<T>): Promise<T> {
    const timeout = new AbortController();
    const milliseconds = request.readTimeout ?? this.options.readTimeout;
    const timer = setTimeout(() => timeout.abort(new Error(`no answer for ${milliseconds / 1000} s`)), milliseconds);
    try {
      const query = Object.entries(request.query ?? {}).filter(([, value]) => value !== undefined);
      const search =
        query.length > 0 ? `?${new URLSearchParams(query.map(([key, value]) => [key, String(value)]))}` : "";
      const hasJson = request.json !== undefined;
      const response = await this.options.fetch(base + request.path + search, {
        method: request.method,
        headers: { ...this.headers, ...(hasJson && { "content-type": "application/json" }), ...request.headers },
        body: hasJson ? JSON.stringify(request.json) : (request.body ?? null),
        redirect: "manual",
        signal: request.signal ? AbortSignal.any([request.signal, timeout.signal]) : timeout.signal,
        ...(request.body instanceof ReadableStream && { duplex: "half" }),
      });
      if (response.ok || response.status === 304) return await read(response);
      throw failureOf(response, await response.text());
    } finally {
      clearTimeout(timer);
    }
  }
}

/** An attempt without a usable answer. */
class Failure extends Error {
  /** Whether the request certainly ran nothing. */
  ranNothing = false;
  /** The time that the server asked to wait, in milliseconds. */
  retryAfter: number | undefined;
  /** The URL of the host that has the chat. */
  host: string | undefined;

  /** Makes the failure of an attempt that got no answer. */
  static ofConnection(error: unknown): Failure {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause;
    const failure = new Failure(cause?.message ?? String(error), { cause: error });
    failure.ranNothing = cause?.code === "ECONNREFUSED" || cause?.code === "ENOTFOUND";
    return failure;
  }
}

/** Returns the error of an answer: `Refused` if it is final. */
function failureOf({ status, headers }: Response, text: string): Failure | Refused {
  const problem = headers.get("content-type")?.startsWith("application/problem+json") ? readProblem(text) : undefined;
  // A full disk stays full for longer than a client waits.
  const isTemporary = [408, 421, 429].includes(status) || (status >= 500 && status !== 507);
  if (problem && status >= 400 && !isTemporary) return new Refused(problem);
  const failure = new Failure(problem ? `${status} ${problem.code}: ${problem.detail}` : `status ${status}`);
  if (status === 429 || status === 503) failure.retryAfter = retryAfter(headers);
  if (status === 421) failure.host = headers.get("toolhost-host")?.replace(/\/$/, "");
  failure.ranNothing = status === 408 || status === 421 || status === 429 || failure.retryAfter !== undefined;
  return failure;
}

function readProblem(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text);
    return typeof problem?.code === "string" ? { detail: "", ...problem } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the milliseconds of `Retry-After`, a minute at most. The header has a number of seconds or a date. */
function retryAfter(headers: Headers): number | undefined {
  const header = headers.get("retry-after")?.trim() ?? "";
  const wait = /^\d+$/.test(header) ? 1000 * Number(header) : Date.parse(header) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), LONGEST_RETRY_AFTER);
}

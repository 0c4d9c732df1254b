// Streams of server-sent events that come back: after a lost connection, and after a restart of the server.
//
// `EventSource` gives up when a server refuses a connection once, and takes in events faster than a page can handle them. This reads
// the next events only after the last ones were handled, and lets the page draw in between.

import { Problem, problemOf, sessionEnded } from "./api.js";
import { Pace } from "./pace.js";

/** The pause before the first and the last attempts to connect again, in milliseconds. */
const FIRST_PAUSE = 250;
const LAST_PAUSE = 4000;
/** After this many milliseconds without a byte the connection counts as lost; the server sends a comment every 15 s. */
const SILENCE = 40_000;

/**
 * @typedef {"connecting" | "live" | "lost" | "refused"} StreamState
 * @typedef {{event: (name: string, data: any) => void, state: (state: StreamState, problem?: Problem) => void}} Listener
 */

export class Stream {
  /**
   * @param {string} path
   * @param {Listener} listener
   */
  constructor(path, listener) {
    this.path = path;
    this.listener = listener;
    this.lastId = "";
    this.isClosed = false;
    this.pause = FIRST_PAUSE;
    this.abort = new AbortController();
    this.wake = () => {};
    this.hurry = () => this.wake();
    window.addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
    this.run();
  }

  close() {
    this.isClosed = true;
    this.abort.abort();
    this.wake();
    window.removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
  }

  async run() {
    this.listener.state("connecting");
    while (!this.isClosed) {
      /** @type {Problem | undefined} */
      let problem;
      try {
        await this.connect();
      } catch (error) {
        if (error instanceof Problem) problem = error;
      }
      if (this.isClosed) return;
      if (problem && [400, 401, 403, 404].includes(problem.status)) {
        this.listener.state("refused", problem);
        this.isClosed = true;
        if (problem.status === 401) sessionEnded();
        return;
      }
      this.listener.state("lost", problem);
      await this.rest();
    }
  }

  /** Waits before the next attempt. */
  async rest() {
    const pause = this.pause * (0.75 + Math.random() / 2);
    this.pause = Math.min(LAST_PAUSE, this.pause * 2);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, pause);
      this.wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.wake = () => {};
  }

  async connect() {
    this.abort = new AbortController();
    /** @type {Record<string, string>} */
    const headers = { accept: "text/event-stream" };
    if (this.lastId) headers["last-event-id"] = this.lastId;
    const response = await fetch(this.path, { headers, signal: this.abort.signal, cache: "no-store", redirect: "error" });
    if (!response.ok || !response.body) throw await problemOf(response);
    this.listener.state("live");
    this.pause = FIRST_PAUSE;
    await this.consume(response.body.getReader());
  }

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async consume(reader) {
    const decoder = new TextDecoder();
    const parser = new Parser();
    const pace = new Pace();
    for (;;) {
      const silence = setTimeout(() => this.abort.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done || this.isClosed) return;
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) {
        if (event.id) this.lastId = event.id;
        if (event.data) this.listener.event(event.name, JSON.parse(event.data));
        await pace.keep();
        if (this.isClosed) return;
      }
    }
  }
}

/** Reads events out of the text of a stream. */
class Parser {
  constructor() {
    this.rest = "";
    this.name = "";
    this.id = "";
    /** @type {string[]} */
    this.data = [];
  }

  /** @param {string} text */
  *feed(text) {
    this.rest += text;
    let from = 0;
    for (let end = this.rest.indexOf("\n"); end >= 0; end = this.rest.indexOf("\n", from)) {
      const line = this.rest.slice(from, this.rest[end - 1] === "\r" ? end - 1 : end);
      from = end + 1;
      if (line !== "") {
        this.field(line);
        continue;
      }
      if (this.data.length > 0 || this.id) yield { name: this.name || "message", id: this.id, data: this.data.join("\n") };
      this.name = "";
      this.id = "";
      this.data = [];
    }
    this.rest = this.rest.slice(from);
  }

  /** @param {string} line */
  field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") this.name = value;
    else if (name === "id") this.id = value;
    else if (name === "data") this.data.push(value);
  }
}

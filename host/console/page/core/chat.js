// A chat as the page follows it: its calls and processes, kept up to date by its events.

import { address, api, chatAddress } from "./api.js";
import { Stream } from "./stream.js";
import { Subjects } from "./subjects.js";

/** After how many milliseconds the list is read again once something has begun or ended. */
const SETTLE = 300;

/**
 * @typedef {{chat: string, id: string, tool: string, state: string, success?: boolean, token?: string, began_at_unix_ms: number,
 *   ended_at_unix_ms?: number, progress?: {done: number, total?: number, message?: string}, duration_ms?: number, queued_ms?: number,
 *   guest_ms?: number, arguments_bytes?: number, reply_bytes?: number}} Call
 * @typedef {{id: string, call?: string, command: string, workdir: string, background: boolean, status: string, exit_code?: number,
 *   signal?: string, cause?: string, reason?: string, started_at_unix: number, exited_at_unix?: number, total_bytes: number,
 *   isGone?: boolean}} Process
 * @typedef {{id: string, process: string, on: "exit" | "output", pattern?: string, delivery?: string,
 *   told?: {event: "exited" | "matched" | "lost", at_unix: number}}} Notice
 * @typedef {{offset: number, length: number, text?: string, base64?: string}} Piece
 * @typedef {{state?: string, success?: string, tool?: string, text?: string}} Filter
 */

/** Returns whether a process, or anything that it started, runs. @param {Process} process */
export const isLiveProcess = ({ status, isGone }) => !isGone && (status === "running" || status === "lingering");

/** The call that made a call; undefined for one that no other made. @param {string} id */
export const outerOf = (id) => (id.includes("/") ? id.slice(0, id.lastIndexOf("/")) : undefined);

/** Puts calls that another one made below it, in their order; those whose outer call is not there stay. @param {Call[]} calls */
const nest = (calls) => {
  const known = new Set(calls.map((call) => call.id));
  /** @param {Call} call */
  const outer = (call) => {
    const id = outerOf(call.id);
    return id !== undefined && known.has(id) ? id : undefined;
  };
  const number = (/** @type {Call} */ call) => Number(call.id.slice(call.id.lastIndexOf("/") + 1));
  const below = Map.groupBy(calls.filter(outer), outer);
  return calls
    .filter((call) => outer(call) === undefined)
    .flatMap((call) => [call, ...(below.get(call.id) ?? []).sort((one, other) => number(one) - number(other))]);
};

export class ChatFollower {
  /**
   * @param {string} chat
   * @param {Filter} filter
   * @param {boolean} mayAudit whether the token may read the audit trail
   * @param {() => void} changed
   */
  constructor(chat, filter, mayAudit, changed) {
    this.chat = chat;
    this.notify = changed;
    this.subjects = new Subjects(chat, () => this.changed(), mayAudit);
    /** The calls that the list has, newest first. @type {Call[]} */
    this.listed = [];
    /** What events said since. @type {Map<string, Partial<Call>>} */
    this.news = new Map();
    /** @type {Map<string, Process>} */
    this.processes = new Map();
    /** What the chat wants to be told, and was told. @type {Notice[]} */
    this.notices = [];
    /** @type {Map<string, (piece: Piece) => void>} */
    this.readers = new Map();
    /** Is called when output may have been missed. @type {Set<() => void>} */
    this.resumers = new Set();
    /** @type {Filter} */
    this.filter = filter;
    /** @type {string | undefined} */
    this.next = undefined;
    this.isLoaded = false;
    /** Whether the server knows a chat of this name; undefined until it has been asked. @type {boolean | undefined} */
    this.isKnown = undefined;
    /** When the chat was ended, in milliseconds since 1970, if nothing has begun since. @type {number | undefined} */
    this.endedAt = undefined;
    /** @type {Error | undefined} */
    this.problem = undefined;
    /** @type {{state: string, problem?: Error}} */
    this.stream = { state: "connecting" };
    this.frame = 0;
    this.timer = 0;
    this.isClosed = false;
    this.round = 0;
    this.followed = new Stream(`${chatAddress(chat)}/events`, {
      event: (name, data) => this.event(name, data),
      state: (state, problem) => this.turned(state, problem),
    });
    this.load();
  }

  close() {
    this.isClosed = true;
    this.followed.close();
    this.subjects.close();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
  }

  /** Renders in the next frame. */
  changed() {
    if (this.frame !== 0 || this.isClosed) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.notify();
    });
  }

  /** @param {string} state @param {Error} [problem] */
  turned(state, problem) {
    const isBack = state === "live" && this.stream.state === "lost";
    this.stream = { state, problem };
    if (isBack) this.missed();
    this.changed();
  }

  /** Reads again what may have been missed. */
  missed() {
    this.load();
    for (const resume of this.resumers) resume();
  }

  /** Reads the lists soon. */
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), SETTLE);
  }

  /** @param {Filter} filter */
  search(filter) {
    this.filter = filter;
    this.isLoaded = false;
    this.load();
    this.changed();
  }

  /** @param {string} [after] */
  listAddress(after) {
    return address(`${chatAddress(this.chat)}/calls`, { ...this.filter, limit: 50, after });
  }

  async load() {
    const round = ++this.round;
    try {
      const [calls, processes, { notices }, entry] = await Promise.all([
        api(this.listAddress()),
        api(address(`${chatAddress(this.chat)}/processes`, { limit: 1000 })),
        api(`${chatAddress(this.chat)}/notices`),
        this.entry(),
      ]);
      if (this.isClosed || round !== this.round) return;
      // Pages that were read before stay, if the first page still reaches to them.
      const known = new Set(calls.calls.map((/** @type {Call} */ call) => call.id));
      const older = this.isLoaded && calls.next ? this.listed.filter((call) => !known.has(call.id) && call.state !== "running") : [];
      const overlaps = this.listed.some((call) => known.has(call.id));
      this.listed = [...calls.calls, ...(overlaps ? older : [])];
      if (!overlaps || older.length === 0) this.next = calls.next;
      for (const call of this.listed) if (call.state !== "running") this.news.delete(call.id);
      this.keep(processes);
      this.notices = notices;
      const isPart = Object.values(this.filter).some(Boolean);
      this.isKnown = entry !== undefined || this.listed.length > 0 || this.processes.size > 0 || (isPart && this.isKnown !== false);
      this.endedAt = entry?.ended_at_unix_ms ?? this.endedAt;
      this.isLoaded = true;
      this.problem = undefined;
    } catch (error) {
      if (round === this.round) this.problem = /** @type {Error} */ (error);
    }
    this.changed();
  }

  /** Returns the chat as the list of chats has it; undefined if that is not there, or not for this token. @returns {Promise<any>} */
  async entry() {
    try {
      const { chats } = await api(address("/v1/chats", { prefix: this.chat, limit: 50 }));
      return chats.find((/** @type {any} */ one) => one.chat === this.chat);
    } catch {
      return undefined;
    }
  }

  /** Takes a list of processes. Those that the server has forgotten, as it does with the end of a chat, stay on the page. @param {{processes: Process[], total: number}} list */
  keep({ processes, total }) {
    const found = new Map(processes.map((process) => [process.id, process]));
    const isWhole = total <= processes.length;
    for (const [id, process] of this.processes) if (!found.has(id)) found.set(id, { ...process, isGone: isWhole });
    this.processes = found;
  }

  async more() {
    try {
      const page = await api(this.listAddress(this.next));
      const known = new Set(this.listed.map((call) => call.id));
      this.listed = [...this.listed, ...page.calls.filter((/** @type {Call} */ call) => !known.has(call.id))];
      this.next = page.next;
    } catch (error) {
      this.problem = /** @type {Error} */ (error);
    }
    this.changed();
  }

  /** The calls with the news about them, newest first, each with the calls that it made below it. @returns {Call[]} */
  get calls() {
    const calls = this.listed.map((call) => ({ ...call, ...this.news.get(call.id) }));
    if (Object.values(this.filter).some(Boolean)) return nest(calls);
    const known = new Set(this.listed.map((call) => call.id));
    const fresh = [...this.news].filter(([id, news]) => !known.has(id) && news.tool).map(([id, news]) => ({ chat: this.chat, id, ...news }));
    return nest([.../** @type {Call[]} */ (fresh).reverse(), ...calls]);
  }

  /** The processes of a call, or those that no call started. @param {string | undefined} call */
  processesOf(call) {
    const found = [...this.processes.values()].filter((process) => process.call === call);
    return found.sort((one, other) => one.started_at_unix - other.started_at_unix);
  }

  /** The notices about a process. @param {string} process */
  noticesOf(process) {
    return this.notices.filter((notice) => notice.process === process);
  }

  /** @param {string} name @param {any} data */
  event(name, data) {
    if (name === "output") this.output(data);
    else if (name === "gap") this.output({ ...data, text: undefined });
    else if (name === "call") this.call(data);
    else if (name === "progress") this.hear(data.call, { progress: data });
    else if (name === "process_started") this.started(data);
    else if (name === "process") this.process(data);
    else if (name === "notice") this.settle();
    else if (name === "reset") this.missed();
    else if (name === "chat_ended") {
      this.endedAt = Date.now();
      this.settle();
    }
  }

  /** @param {string} id @param {Partial<Call>} news */
  hear(id, news) {
    this.news.set(id, { ...this.news.get(id), ...news });
    // The news of calls that no list has by now are dropped.
    for (const oldest of this.news.keys()) {
      if (this.news.size <= 500) break;
      this.news.delete(oldest);
    }
    this.changed();
  }

  /** @param {any} data */
  call({ call, tool, state, is_error }) {
    this.endedAt = undefined;
    /** @type {Partial<Call>} */
    const news = { tool, state };
    const known = this.news.get(call) ?? this.listed.find((one) => one.id === call);
    if (!known?.began_at_unix_ms) news.began_at_unix_ms = Date.now();
    if (state !== "running" && state !== "queued") {
      news.success = state === "finished" && is_error !== true;
      news.ended_at_unix_ms = Date.now();
    }
    this.hear(call, news);
    this.settle();
  }

  /** @param {any} data */
  started({ process, call, command, workdir, background }) {
    const now = Math.floor(Date.now() / 1000);
    this.processes.set(process, {
      id: process, call, command, workdir, background, status: "running", started_at_unix: now, total_bytes: 0,
    });
    this.changed();
    this.settle();
  }

  /** @param {any} data */
  process({ process, ...state }) {
    const known = this.processes.get(process);
    if (known) this.processes.set(process, { ...known, ...state });
    this.changed();
    this.settle();
  }

  /** @param {any} data */
  output({ process, offset, length, text, base64 }) {
    const known = this.processes.get(process);
    if (known) known.total_bytes = Math.max(known.total_bytes, offset + length);
    this.readers.get(process)?.({ offset, length, text, base64 });
  }
}

// The script of one fake process, on the virtual clock of the test.

import { cancelled, surroundings } from "../host/native.js";
import { HostError } from "../lib/errors.js";
import { PIPE } from "../lib/stdin.js";

/** The bytes in each of the two windows of a snapshot. */
const WINDOW = 32 << 10;

/** The states of a process that can read. */
const ALIVE = ["running", "lingering"];

/**
 * A fake process, and the script of what happens to it.
 *
 * A script is read from left to right; `after` lets time pass until what follows. A wait moves the virtual clock to the moment at which
 * it returns, so a test takes no time: `new FakeProcess().prints("compiling\n").after(90).prints("done\n").exits(0)`.
 */
export class FakeProcess {
  constructor(id = "p1") {
    this.id = id;
    this.events = [];
    this.at = 0;
    this.began = 0;
    this.denials = [];
    this.survivors = [];
    this.ports = [];
    this.reads(undefined);
  }

  /** Lets time pass, in seconds. */
  after(seconds) {
    this.at += seconds;
    return this;
  }

  prints(output) {
    return this.#then({ output: typeof output === "string" ? new TextEncoder().encode(output) : output });
  }

  exits(code) {
    return this.#then({ state: { kind: "exited", code, cause: "itself" } });
  }

  /** Is ended by a signal of this name, for example `SIGKILL`. */
  isEndedBy(signal, cause = "itself") {
    return this.#then({ state: { kind: "exited", signal, cause } });
  }

  /** Exits with this code, while processes that it started live on. */
  lingers(code, ...survivors) {
    this.survivors = survivors;
    return this.#then({ state: { kind: "lingering", code, cause: "itself" } });
  }

  /** Is lost with the host that ran it. */
  isLost(text) {
    return this.#then({ state: { kind: "lost", text } });
  }

  /** Runs into the sandbox, which has likely denied this. */
  isDenied(...denials) {
    this.denials = denials;
    return this;
  }

  /** Lets everything fail that is asked of the process. */
  fails(reason, text) {
    this.error = new HostError(reason, text);
    return this;
  }

  /** Listens on this port from its start on. */
  listens(number, url, expiresAt) {
    this.ports.push({ number, url, expiresAt });
    return this;
  }

  /** Shows this in its terminal, unless the plugin starts the process without one. The screen gets the terminal's size. */
  shows({ rows = 24, columns = 80, ...screen }) {
    this.reads({ rows, columns });
    return this.#then({ screen });
  }

  /** Has an open standard input, unless the plugin starts the process without one: for a process of `FakeProcesses.has`. */
  takesInput() {
    this.reads(PIPE);
    return this;
  }

  /** Lets everything fail that is done to the standard input: `write`, `closeInput` and `resize`. */
  failsToTakeInput(reason, text) {
    this.inputError = new HostError(reason, text);
    return this;
  }

  /** Begins with this standard input. */
  reads(stdin) {
    this.terminal = stdin?.rows === undefined ? undefined : { rows: stdin.rows, columns: stdin.columns };
    this.isOpen = stdin === PIPE || this.terminal !== undefined;
  }

  /** Returns the state after an input. Throws `HostError` if the standard input is not open. */
  write() {
    this.#check();
    if (this.inputError !== undefined) throw this.inputError;
    const state = this.state();
    if (!ALIVE.includes(state.kind)) throw new HostError("invalid", "it has ended");
    if (!this.isOpen) {
      throw new HostError("invalid", "its standard input is not open: start the process with PIPE or the size of a terminal");
    }
    return state;
  }

  closeInput() {
    const state = this.write();
    // In a terminal this only types Ctrl-D.
    this.isOpen = this.terminal !== undefined;
    return state;
  }

  resize(rows, columns) {
    const state = this.write();
    if (this.terminal === undefined) throw new HostError("invalid", "it has no terminal");
    this.terminal = { rows, columns };
    return state;
  }

  /** Ends the process now, unless it has ended. */
  isSignalled(signal) {
    const now = surroundings().now - this.began;
    this.events = this.events.filter(({ at }) => at <= now);
    this.events.push({ at: now, state: { kind: "exited", signal, cause: "signalled" } });
  }

  state() {
    return this.#past().findLast(({ state }) => state !== undefined)?.state ?? { kind: "running" };
  }

  output() {
    return new Uint8Array(this.#past().flatMap(({ output }) => [...(output ?? [])]));
  }

  wait(timeout, { since = 0, until, output = false }, clamp = Infinity) {
    this.#check();
    const around = surroundings();
    const { now } = around;
    const end = now + Math.min(timeout, clamp);
    const moments = [now, ...this.events.map(({ at }) => at + this.began), around.cancelledAfter ?? now];
    for (const moment of moments.sort((one, other) => one - other)) {
      if (moment < now || moment > end) continue;
      around.now = moment;
      const [wake, matchEnd] = this.#wake(since, until, output);
      if (wake !== undefined) return { wake, state: this.state(), total: this.output().length, matchEnd };
    }
    around.now = end;
    return { wake: timeout <= clamp ? "timed-out" : "clamped", state: this.state(), total: this.output().length };
  }

  snapshot() {
    this.#check();
    const written = this.output();
    const state = this.state();
    return {
      state,
      total: written.length,
      head: written.slice(0, WINDOW),
      tail: written.slice(Math.max(WINDOW, written.length - WINDOW)),
      survivors: state.kind === "lingering" ? this.survivors : [],
      denials: this.denials,
      saved: written.length > WINDOW ? "complete" : "none",
      takesInput: this.isOpen && ALIVE.includes(state.kind),
      screen: this.#screen(),
    };
  }

  read(since, max) {
    this.#check();
    const written = this.output();
    const data = written.slice(since, since + max);
    const end = this.state().kind !== "running" && since + data.length >= written.length;
    return { offset: Math.min(since, written.length), data, total: written.length, end };
  }

  /** Returns why a wait returns now, and where its match ends. */
  #wake(since, until, output) {
    const written = this.output();
    if (until !== undefined) {
      // One character for each byte, so that offsets are those of bytes.
      const found = new RegExp(until, "m").exec(String.fromCharCode(...written.slice(since)));
      if (found !== null) return ["matched", since + found.index + found[0].length];
    }
    if (output && written.length > since) return ["output"];
    if (this.state().kind !== "running") return ["ended"];
    return cancelled() ? ["cancelled"] : [];
  }

  /** Returns what its terminal shows; `undefined` without a terminal. */
  #screen() {
    if (this.terminal === undefined) return undefined;
    const shown = this.#past().findLast(({ screen }) => screen !== undefined)?.screen;
    const { text = "", cursor, title = "", alternate = false, applicationKeys = false } = shown ?? {};
    return { ...this.terminal, text, cursor, title, alternate, applicationKeys };
  }

  /** Returns what has happened until now. */
  #past() {
    const now = surroundings().now - this.began;
    return this.events.filter(({ at }) => at <= now);
  }

  #then(event) {
    this.events.push({ at: this.at, ...event });
    return this;
  }

  #check() {
    if (this.error !== undefined) throw this.error;
  }
}

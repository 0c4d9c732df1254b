// The script of one fake process, on the virtual clock of the test.

import { cancelled, surroundings } from "../host/native.js";
import { HostError } from "../lib/errors.js";

/** The bytes in each of the two windows of a snapshot. */
const WINDOW = 32 << 10;

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
    return {
      state: this.state(),
      total: written.length,
      head: written.slice(0, WINDOW),
      tail: written.slice(Math.max(WINDOW, written.length - WINDOW)),
      survivors: this.state().kind === "lingering" ? this.survivors : [],
      denials: this.denials,
      saved: written.length > WINDOW ? "complete" : "none",
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

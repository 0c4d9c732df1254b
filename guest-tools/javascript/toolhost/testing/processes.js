// A chat's processes, all of them scripted.

import { surroundings } from "../host/native.js";
import { HostError } from "../lib/errors.js";

const SIGNALS = {
  interrupt: "SIGINT",
  terminate: "SIGTERM",
  kill: "SIGKILL",
  hangup: "SIGHUP",
  quit: "SIGQUIT",
};

const ORDER = ["running", "lingering"];

/**
 * Stands in for the host's processes, follows a script, and remembers what it was asked for: `started` has the commands, and `signals`
 * an id and a name for each signal. `inputs` has what was done to the standard input of which process, also what failed:
 * `["p1", "write", bytes]`, `["p1", "close"]` or `["p1", "resize", 40, 120]`. `notices` has an id and what was asked for, for each
 * notice. `clamp` is the longest wait of the host in seconds, and `inShell` the shell that runs the commands.
 */
export class FakeProcesses {
  #toStart = [];
  #known = [];

  constructor({ clamp = Infinity, inShell = "bash" } = {}) {
    this.clamp = clamp;
    this.inShell = inShell;
    this.started = [];
    this.signals = [];
    this.inputs = [];
    this.notices = [];
  }

  /** Lets the next start give this process. */
  starts(process) {
    this.#toStart.push(process);
    return this;
  }

  /** Lets the next start fail, for example with the reason `workdir`. */
  failsToStart(reason, text) {
    this.#toStart.push(new HostError(reason, text));
    return this;
  }

  /** Adds a process that an earlier call started in the background. */
  has(process, command) {
    this.#known.push({ process, options: { command, env: {}, background: true, without: [] } });
    return this;
  }

  shell() {
    return this.inShell;
  }

  start({ env, ...rest }) {
    const options = { ...rest, env: Object.fromEntries(env) };
    this.started.push(options);
    const next = this.#toStart.shift();
    if (next === undefined) {
      throw new Error(`the test has no process for the command ${JSON.stringify(rest.command)}: give one with starts`);
    }
    if (next instanceof HostError) throw next;
    next.began = surroundings().now;
    next.reads(options.stdin);
    this.#known.push({ process: next, options });
    return this.#handle(next, options);
  }

  open(id) {
    const found = this.#known.find(({ process }) => process.id === id);
    if (found === undefined) throw new HostError("not-found", "process not found");
    return this.#handle(found.process, found.options);
  }

  listProcesses(runningOnly, max) {
    const place = ({ state }) => (ORDER.includes(state.kind) ? ORDER.indexOf(state.kind) : ORDER.length);
    const all = this.#known.map(({ process, options }) => infoOf(process, options)).reverse();
    const shown = all.sort((one, other) => place(one) - place(other));
    const found = runningOnly ? shown.filter(({ state }) => ORDER.includes(state.kind)) : shown;
    return { processes: found.slice(0, max), total: found.length };
  }

  waitAny(ids, timeout) {
    const around = surroundings();
    const began = around.now;
    const seen = ids.map((id, place) => {
      around.now = began;
      const { wake } = this.open(id).wait(timeout);
      return { at: around.now, wake, place };
    });
    // The first end of all, on the clock of the test.
    const first = seen.sort((one, other) => one.at - other.at || (one.wake === "ended" ? -1 : 1))[0];
    around.now = first?.at ?? began + timeout;
    return { wake: first?.wake ?? "timed-out", place: first?.wake === "ended" ? first.place : undefined };
  }

  #handle(process, options) {
    return {
      id: process.id,
      wait: (timeout, wait = {}) => process.wait(timeout, wait, this.clamp),
      snapshot: () => process.snapshot(),
      read: (since = 0, max = 4 << 20) => process.read(since, max),
      info: () => infoOf(process, options),
      write: (data) => {
        this.inputs.push([process.id, "write", data]);
        return process.write();
      },
      closeInput: () => {
        this.inputs.push([process.id, "close"]);
        return process.closeInput();
      },
      resize: (rows, columns) => {
        this.inputs.push([process.id, "resize", rows, columns]);
        return process.resize(rows, columns);
      },
      notify: (on = {}) => {
        process.snapshot();
        this.notices.push([process.id, on]);
        return `notice_${this.notices.length}`;
      },
      listening: (timeout) => {
        process.snapshot();
        if (process.ports.length === 0 && timeout > 0) process.wait(timeout, {}, this.clamp);
        return [...process.ports];
      },
      signal: (name) => {
        process.snapshot();
        this.signals.push([process.id, name]);
        const before = process.state();
        if (ORDER.includes(before.kind) && SIGNALS[name] !== undefined) process.isSignalled(SIGNALS[name]);
        return before;
      },
    };
  }
}

function infoOf(process, { command, workdir, background }) {
  const state = process.state();
  const total = process.output().length;
  return {
    id: process.id,
    command,
    workdir: workdir ?? surroundings().workspaceRoot,
    background,
    state,
    startedMs: 1_000_000,
    exitedMs: state.kind === "running" ? undefined : 2_000_000,
    lastOutputMs: total > 0 ? 1_500_000 : undefined,
    total,
  };
}

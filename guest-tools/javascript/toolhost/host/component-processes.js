// Processes, by the bindings of the contract.

import * as wit from "toolhost:plugin/processes@0.1.0";
import { u64 } from "#engine";
import { PIPE } from "../lib/stdin.js";
import { asked as ask } from "./refusal.js";

const asked = (run) => ask({ "not-found": "process not found" }, run);

export function start({ command, workdir, env, background, stdin, without }) {
  const restrictions = { write: without.includes("write"), network: without.includes("network") };
  const options = { command, workdir, env, background, stdin: inputOf(stdin), without: restrictions };
  return wrap(asked(() => wit.start(options)));
}

function inputOf(stdin) {
  if (stdin === undefined || stdin === null) return { tag: "none" };
  if (stdin === PIPE) return { tag: "pipe" };
  const { rows, columns } = stdin;
  return rows === undefined ? { tag: "bytes", val: stdin } : { tag: "terminal", val: { rows, columns } };
}

export const shell = () => asked(() => wit.currentShell());

export const open = (id) => wrap(asked(() => wit.open(id)));

export function listProcesses(runningOnly, max) {
  const [found, total] = asked(() => wit.listProcesses(runningOnly, max));
  return { processes: found.map(infoOf), total };
}

export function waitAny(ids, timeout) {
  const opened = ids.map((id) => asked(() => wit.open(id)));
  const seen = asked(() => wit.waitAny(opened, u64(Math.max(Math.round(timeout * 1000), 0))));
  return { wake: seen.wake, place: seen.ended ?? undefined };
}

/** Returns a process with seconds for times, numbers for `u64`, and `undefined` for what is absent. */
function wrap(process) {
  return {
    id: process.id(),
    wait(timeout, { since = 0, until, output = false } = {}) {
      const timeoutMs = u64(Math.max(Math.round(timeout * 1000), 0));
      const seen = asked(() => process.wait({ timeoutMs, since: u64(since), until, output }));
      return { wake: seen.wake, state: stateOf(seen.state), total: Number(seen.total), matchEnd: number(seen.matchEnd) };
    },
    info: () => infoOf(asked(() => process.info())),
    snapshot() {
      const seen = asked(() => process.snapshot());
      const { head, tail, survivors, denials, saved, takesInput } = seen;
      const screen = screenOf(seen.screen);
      return {
        state: stateOf(seen.state),
        total: Number(seen.total),
        head,
        tail,
        survivors,
        denials,
        saved: saved.tag,
        takesInput,
        screen,
      };
    },
    read(since = 0, max = 4 << 20) {
      const { offset, data, total, end } = asked(() => process.read(u64(since), max));
      return { offset: Number(offset), data, total: Number(total), end };
    },
    signal(name, grace) {
      const graceMs = grace === undefined ? undefined : u64(Math.round(grace * 1000));
      return stateOf(asked(() => process.signal(name, graceMs)));
    },
    write: (data) => stateOf(asked(() => process.write(data))),
    closeInput: () => stateOf(asked(() => process.closeInput())),
    resize: (rows, columns) => stateOf(asked(() => process.resize({ rows, columns }))),
    notify({ pattern, since = 0 } = {}) {
      const on = pattern === undefined ? { tag: "exit" } : { tag: "output", val: { pattern, since: u64(since) } };
      return asked(() => process.notify(on));
    },
    listening(timeout) {
      const found = asked(() => process.listening(u64(Math.max(Math.round(timeout * 1000), 0))));
      return found.map(({ number: port, url, expiresAt }) => ({ number: port, url: url ?? undefined, expiresAt: number(expiresAt) }));
    },
  };
}

const number = (value) => (value === undefined || value === null ? undefined : Number(value));

function screenOf(seen) {
  if (seen === undefined || seen === null) return undefined;
  const { size, text, title, alternate, applicationKeys } = seen;
  const [row, column] = seen.cursor ?? [];
  const cursor = row === undefined ? undefined : { row, column };
  return { rows: size.rows, columns: size.columns, text, cursor, title, alternate, applicationKeys };
}

function stateOf({ tag, val }) {
  if (typeof val === "string") return { kind: tag, text: val };
  if (val === undefined || val === null) return { kind: tag };
  return { kind: tag, code: val.code ?? undefined, signal: val.signal ?? undefined, cause: val.cause };
}

function infoOf(seen) {
  const { id, command, workdir, background, state, startedMs, exitedMs, lastOutputMs, total } = seen;
  return {
    id,
    command,
    workdir,
    background,
    state: stateOf(state),
    startedMs: Number(startedMs),
    exitedMs: number(exitedMs),
    lastOutputMs: number(lastOutputMs),
    total: Number(total),
  };
}

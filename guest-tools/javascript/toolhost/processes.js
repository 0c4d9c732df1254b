// Shell commands of the workspace. The plugin needs the grant `processes`.

import * as host from "#host";
import * as port from "#host/processes";
import { Failed } from "./lib/errors.js";
import { encoded } from "./lib/stdin.js";

export { PIPE } from "./lib/stdin.js";

/** The seconds that `run` leaves to the call for its reply. */
const FOR_REPLY = 2;

/** Returns the shell that runs commands: "bash" or "sh". Throws `HostError`. */
export const shell = () => port.shell();

/**
 * Starts `bash -c command` or `sh -c command`, and returns a process that runs whether or not the plugin waits for it. Throws `HostError`.
 *
 * The command reads `stdin`: bytes or a text and then the end, the bytes that the plugin writes later (`PIPE`), or the keys that the
 * plugin types in a terminal (`{ rows: 24, columns: 80 }`). Without `stdin`, the command reads nothing.
 */
export function start(command, { workdir, env = {}, stdin, background = false, without = [] } = {}) {
  return withText(port.start({ command, workdir, env: Object.entries(env), background, stdin: encoded(stdin), without }));
}

/** Returns the process of this chat that has this id. Throws `HostError` with the reason `not-found` if there is none. */
export const open = (id) => withText(port.open(id));

/** Returns at most `max` processes of this chat, and how many there are in all. The running ones come first. */
export const listProcesses = ({ runningOnly = false, max = 100 } = {}) => port.listProcesses(runningOnly, max);

/**
 * Waits until one of these processes, of which there are at most 64, has ended. Returns why it returned as `wake` (ended, timed-out,
 * clamped or cancelled), and the `process` that has ended, if one has. Throws `HostError`.
 */
export function waitAny(processes, timeout) {
  const ids = processes.map(({ id }) => id);
  const { wake, place } = port.waitAny(ids, timeout);
  return { wake, process: place === undefined ? undefined : processes[place] };
}

/**
 * Runs a command to its end, and returns its state and its output. `timeout` is in seconds; without it the command may run until
 * shortly before the call's own end. Throws `Failed` after that time, or if the call is cancelled, and then has the command ended.
 *
 * Give it no `stdin: PIPE`: nothing is written to that pipe, and a command that reads it runs until the timeout.
 */
export function run(command, { timeout, ...options } = {}) {
  const left = host.remainingMs() / 1000;
  const most = left - Math.min(FOR_REPLY, left / 2);
  const bound = Math.min(timeout ?? most, most);
  const process = start(command, options);
  for (;;) {
    const { wake } = process.wait(bound - (left - host.remainingMs() / 1000));
    if (wake === "ended") return process.snapshot();
    if (wake === "clamped") continue;
    process.signal("terminate");
    const why = wake === "cancelled" ? "the call was cancelled" : `it took more than ${bound} s`;
    throw new Failed(`the command was ended: ${why}`);
  }
}

/** Adds the output as text to the snapshots of a process, and lets it take texts. */
function withText(process) {
  const snapshot = () => {
    const seen = process.snapshot();
    const gap = seen.total - seen.head.length - seen.tail.length;
    const decoder = new TextDecoder();
    const between = gap > 0 ? `\n[${gap} bytes left out]\n` : "";
    const text =
      between === "" ? decoder.decode(joined(seen.head, seen.tail)) : decoder.decode(seen.head) + between + decoder.decode(seen.tail);
    return { ...seen, text };
  };
  const write = (data) => process.write(encoded(data));
  return { ...process, snapshot, write };
}

function joined(one, other) {
  const all = new Uint8Array(one.length + other.length);
  all.set(one);
  all.set(other, one.length);
  return all;
}

// What runs now, as the server tells it: calls and processes of all chats that the token may see.

import { useEffect, useRef, useState } from "./html.js";
import { Stream } from "../core/stream.js";

/**
 * @typedef {{chat: string, id: string, tool: string, state: string, running_ms: number, token?: string, workspace?: string}} NowCall
 * @typedef {{chat?: string, id: string, call?: string, command: string, started_at_unix_ms: number, status: string, workspace?: string,
 *   background?: boolean, usage?: {cpu_ms?: number, memory_bytes?: number, processes?: number}, last_line?: string}} NowProcess
 * @typedef {{at_unix_ms: number, calls: NowCall[], processes: NowProcess[], unanswered?: string[]}} Snapshot
 */

/** Returns the share of a CPU that each process used since the snapshot before. @param {Snapshot | undefined} before @param {Snapshot} now */
function shares(before, now) {
  const used = new Map((before?.processes ?? []).map((process) => [process.id, process.usage?.cpu_ms]));
  const elapsed = now.at_unix_ms - (before?.at_unix_ms ?? now.at_unix_ms);
  /** @type {Map<string, number>} */
  const found = new Map();
  for (const { id, usage } of now.processes) {
    const earlier = used.get(id);
    if (elapsed > 0 && earlier !== undefined && usage?.cpu_ms !== undefined) {
      found.set(id, Math.max(0, ((usage.cpu_ms - earlier) / elapsed) * 100));
    }
  }
  return found;
}

/** Follows what runs: the last snapshot, the shares of a CPU since the one before, by process, and how far the server's clock is ahead. */
export function useSnapshot() {
  const [snapshot, setSnapshot] = useState(/** @type {Snapshot | undefined} */ (undefined));
  const [stream, setStream] = useState({ state: "connecting", problem: /** @type {Error | undefined} */ (undefined) });
  const share = useRef(/** @type {Map<string, number>} */ (new Map()));
  const last = useRef(/** @type {Snapshot | undefined} */ (undefined));
  const offset = useRef(0);
  useEffect(() => {
    const followed = new Stream("/v1/events", {
      event: (name, data) => {
        if (name !== "now") return;
        offset.current = data.at_unix_ms - Date.now();
        share.current = shares(last.current, data);
        last.current = data;
        setSnapshot(data);
      },
      state: (state, problem) => setStream({ state, problem }),
    });
    return () => followed.close();
  }, []);
  return { snapshot, stream, share: share.current, offset: offset.current };
}

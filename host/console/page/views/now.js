// What runs now, in all chats that the token may see.

import { html, useEffect, useRef, useState } from "../parts/html.js";
import { ChatLink, Empty, Loading, Since, State, StreamState } from "../parts/basics.js";
import { cancelCall, endChat, endProcess } from "../parts/ending.js";
import { Stream } from "../core/stream.js";
import { may } from "../core/session.js";
import { counted, durationText, line, sizeText } from "../core/text.js";

/**
 * @typedef {{chat: string, id: string, tool: string, state: string, running_ms: number, token?: string, workspace?: string}} NowCall
 * @typedef {{chat?: string, id: string, call?: string, command: string, started_at_unix_ms: number, status: string, workspace?: string,
 *   background?: boolean, usage?: {cpu_ms?: number, memory_bytes?: number, processes?: number}, last_line?: string}} NowProcess
 * @typedef {{at_unix_ms: number, calls: NowCall[], processes: NowProcess[]}} Snapshot
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

/** The most calls, and the most processes, that are shown. */
const MOST = 400;

/** Puts calls and processes together by chat, the chats that ran first at the top. @param {Snapshot} snapshot */
function byChat({ at_unix_ms, calls, processes }) {
  /** @type {Map<string, {chat: string, since: number, calls: NowCall[], processes: NowProcess[]}>} */
  const chats = new Map();
  const of = (/** @type {string} */ chat, /** @type {number} */ since) => {
    const found = chats.get(chat) ?? { chat, since, calls: [], processes: [] };
    found.since = Math.min(found.since, since);
    chats.set(chat, found);
    return found;
  };
  for (const call of calls.slice(0, MOST)) of(call.chat, at_unix_ms - call.running_ms).calls.push(call);
  for (const process of processes.slice(0, MOST)) of(process.chat ?? "", process.started_at_unix_ms).processes.push(process);
  return [...chats.values()].sort((one, other) => one.since - other.since);
}

/** @param {{session: import("../core/session.js").Session}} properties */
export function Now({ session }) {
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
  const mayEnd = may(session, "call");
  const chats = snapshot ? byChat(snapshot) : [];
  const running = snapshot && `${counted(snapshot.calls.length, "call")} and ${counted(snapshot.processes.length, "process", "processes")} in ${counted(chats.length, "chat")}`;
  const left = snapshot && Math.max(0, snapshot.calls.length - MOST) + Math.max(0, snapshot.processes.length - MOST);
  return html`<div class="head"><h1>Now</h1><p class="sum" role="status">${running}</p><${StreamState} ...${stream} /></div>
    ${!snapshot && stream.state !== "refused" && html`<${Loading} />`}
    ${snapshot && chats.length === 0 && html`<${Empty} title="Nothing runs">
      <p>Calls and processes show up here as they start. <a href="#/chats">Chats</a> has what ran before${
        mayEnd ? html`, and <a href="#/tools">Tools</a> calls one` : null}.</p></${Empty}>`}
    ${chats.length > 0 && html`<div class="table-frame"><table class="now">
      <thead><tr><th scope="col">Running</th><th scope="col" class="number wide">Since</th><th scope="col" class="number wide">CPU</th>
        <th scope="col" class="number wide">Memory</th><th scope="col" class="number wide">Processes</th>
        <th scope="col"><span class="sr">Actions</span></th></tr></thead>
      ${chats.map((one) => html`<${ChatRows} key=${one.chat} ...${one} at=${snapshot?.at_unix_ms} offset=${offset.current}
        share=${share.current} mayEnd=${mayEnd} />`)}
    </table></div>`}
    ${left ? html`<p class="hint more">${left.toLocaleString()} more run; this list has the first ${MOST} calls and processes.</p>` : null}`;
}

/** @param {any} properties */
function ChatRows({ chat, calls, processes, at, offset, share, mayEnd }) {
  const workspace = [...calls, ...processes].find((one) => one.workspace && one.workspace !== "default")?.workspace;
  const commands = processes.map((/** @type {NowProcess} */ process) => process.command);
  const ofCall = (/** @type {NowCall} */ call) => processes.filter((/** @type {NowProcess} */ process) => process.call === call.id);
  const others = processes.filter((/** @type {NowProcess} */ process) => !calls.some((/** @type {NowCall} */ call) => call.id === process.call));
  return html`<tbody>
    <tr class="group"><th scope="rowgroup">${chat === "" ? "Without a chat" : html`<${ChatLink} chat=${chat} />`}
        ${workspace && html`<span class="tag" title="Workspace">${line(workspace, 60)}</span>`}</th>
      <td class="wide" colspan="4"></td>
      <td class="actions">${mayEnd && chat !== "" && html`<button type="button" class="small"
        onClick=${() => endChat(chat, { calls: calls.length, commands })} aria-label=${`End chat ${line(chat, 60)}`}>End chat</button>`}</td></tr>
    ${calls.map((/** @type {NowCall} */ call) => html`<${CallRow} key=${`call ${call.id}`} call=${call} since=${at - call.running_ms}
        offset=${offset} commands=${ofCall(call).map((/** @type {NowProcess} */ process) => process.command)} mayEnd=${mayEnd} />
      ${ofCall(call).map((/** @type {NowProcess} */ process) => html`<${ProcessRow} key=${process.id} process=${process} offset=${offset}
        share=${share.get(process.id)} mayEnd=${mayEnd} below=${true} />`)}`)}
    ${others.map((/** @type {NowProcess} */ process) => html`<${ProcessRow} key=${process.id} process=${process} offset=${offset}
      share=${share.get(process.id)} mayEnd=${mayEnd} below=${false} />`)}
  </tbody>`;
}

/** @param {any} properties */
function CallRow({ call, since, offset, commands, mayEnd }) {
  return html`<tr>
    <td><div class="what"><${State} state=${call.state} text=${call.state === "queued" ? "queued" : "call"} />
      <${ChatLink} chat=${call.chat} call=${call.id}>${line(call.tool, 80)}</${ChatLink}>
      ${call.token && html`<span class="by">by ${line(call.token, 40)}</span>`}</div>
      <div class="narrow by"><${Since} at=${since} offset=${offset} /></div></td>
    <td class="number wide"><${Since} at=${since} offset=${offset} /></td>
    <td class="wide"></td><td class="wide"></td><td class="wide"></td>
    <td class="actions">${mayEnd && html`<button type="button" class="small" onClick=${() => cancelCall({ ...call, processes: commands })}
      aria-label=${`Cancel the call of ${line(call.tool, 60)}`}>Cancel</button>`}</td>
  </tr>`;
}

/** @param {any} properties */
function ProcessRow({ process, offset, share, mayEnd, below }) {
  const { chat, call, command, usage = {}, last_line } = process;
  const cpu = share === undefined ? durationText(usage.cpu_ms) : `${share < 9.95 ? share.toFixed(1) : Math.round(share)} %`;
  const label = html`<code>${line(command, 240)}</code>`;
  return html`<tr class=${below ? "below" : ""}>
    <td><div class="what"><${State} state=${process.status} text=${process.status === "lingering" ? "lingering" : "process"} />
        ${chat ? html`<${ChatLink} chat=${chat} call=${call}>${label}</${ChatLink}>` : label}
        ${!below && html`<span class="by">in the background</span>`}</div>
      ${last_line && html`<div class="last-line" title=${line(last_line)}>${line(last_line)}</div>`}
      <div class="narrow by"><${Since} at=${process.started_at_unix_ms} offset=${offset} />, ${cpu} CPU, ${sizeText(usage.memory_bytes)}, ${counted(usage.processes ?? 1, "process", "processes")}</div></td>
    <td class="number wide"><${Since} at=${process.started_at_unix_ms} offset=${offset} /></td>
    <td class="number wide" title=${`${durationText(usage.cpu_ms)} in all`}>${cpu}</td>
    <td class="number wide">${sizeText(usage.memory_bytes)}</td>
    <td class="number wide">${usage.processes ?? "–"}</td>
    <td class="actions">${mayEnd && chat && html`<button type="button" class="small danger-text" onClick=${() => endProcess(process)}
      aria-label=${`End ${line(command, 60)}`}>End…</button>`}</td>
  </tr>`;
}

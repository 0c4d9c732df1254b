// What runs now, in all chats that the token may see.

import { html } from "../parts/html.js";
import { ChatLink, Empty, Loading, Since, State, StreamState } from "../parts/basics.js";
import { cancelCall, endChat, endProcess } from "../parts/ending.js";
import { useSnapshot } from "../parts/live.js";
import { useDraft, useQuery } from "../parts/query.js";
import { may } from "../core/session.js";
import { counted, durationText, line, sizeText } from "../core/text.js";

/** @typedef {import("../parts/live.js").NowCall} NowCall @typedef {import("../parts/live.js").NowProcess} NowProcess */
/** @typedef {import("../parts/live.js").Snapshot} Snapshot */

/** The most calls, and the most processes, that are shown. */
const MOST = 400;

/** How the chats are sorted: those that ran first at the top, or those whose processes use most. */
const ORDERS = ["start", "cpu", "memory"];

/**
 * Keeps what has a text in its chat, workspace, token, tool, command or last line; calls and their processes stay together.
 * @param {Snapshot} snapshot
 * @param {string} text
 */
function matching({ at_unix_ms, calls, processes }, text) {
  const wanted = text.toLowerCase();
  const has = (/** @type {unknown[]} */ parts) => parts.some((part) => String(part ?? "").toLowerCase().includes(wanted));
  const key = (/** @type {string | undefined} */ chat, /** @type {string | undefined} */ call) => `${chat} ${call}`;
  const kept = new Set(calls.filter(({ chat, workspace, token, tool }) => has([chat, workspace, token, tool])).map(({ chat, id }) => key(chat, id)));
  for (const { chat, call, workspace, command, last_line } of processes) {
    if (call !== undefined && has([chat, workspace, command, last_line])) kept.add(key(chat, call));
  }
  return {
    at_unix_ms,
    calls: calls.filter(({ chat, id }) => kept.has(key(chat, id))),
    processes: processes.filter(({ chat, call, workspace, command, last_line }) => kept.has(key(chat, call)) || has([chat, workspace, command, last_line])),
  };
}

/**
 * Puts calls and processes together by chat.
 * @param {Snapshot} snapshot
 * @param {string} order
 * @param {Map<string, number>} share
 */
function byChat({ at_unix_ms, calls, processes }, order, share) {
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
  const used = (/** @type {NowProcess} */ { id, usage }) => (order === "cpu" ? share.get(id) : order === "memory" ? usage?.memory_bytes : 0) ?? 0;
  const most = (/** @type {{processes: NowProcess[]}} */ chat) => Math.max(0, ...chat.processes.map(used));
  for (const chat of chats.values()) chat.processes.sort((one, other) => used(other) - used(one));
  return [...chats.values()].sort((one, other) => most(other) - most(one) || one.since - other.since);
}

/** Returns the CPU and the memory that these processes use together. @param {NowProcess[]} processes @param {Map<string, number>} share */
function usedText(processes, share) {
  const sum = (/** @type {(process: NowProcess) => number | undefined} */ of) => processes.reduce((total, process) => total + (of(process) ?? 0), 0);
  const memory = sum(({ usage }) => usage?.memory_bytes);
  return memory === 0 ? "" : `, ${shareText(sum(({ id }) => share.get(id)))} of a CPU, ${sizeText(memory)} memory`;
}

/** @param {number} share */
const shareText = (share) => `${share < 9.95 ? share.toFixed(1) : Math.round(share)} %`;

/** @param {{session: import("../core/session.js").Session}} properties */
export function Now({ session }) {
  const { snapshot, stream, share, offset } = useSnapshot();
  const [query, change] = useQuery({ text: "", order: ORDERS });
  const mayEnd = may(session, "call");
  const shown = snapshot && matching(snapshot, query.text);
  const chats = shown ? byChat(shown, query.order, share) : [];
  const running = shown && `${counted(shown.calls.length, "call")} and ${counted(shown.processes.length, "process", "processes")} in ${
    counted(chats.length, "chat")}${usedText(shown.processes, share)}`;
  const left = shown && Math.max(0, shown.calls.length - MOST) + Math.max(0, shown.processes.length - MOST);
  const runs = snapshot && snapshot.calls.length + snapshot.processes.length > 0;
  return html`<div class="head"><h1>Now</h1><p class="sum" role="status">${running}</p><${StreamState} ...${stream} /></div>
    ${(runs || query.text !== "") && html`<${Filters} query=${query} change=${change} />`}
    ${!snapshot && stream.state !== "refused" && html`<${Loading} />`}
    ${snapshot && !runs && html`<${Empty} title="Nothing runs">
      <p>Calls and processes show up here as they start. <a href="#/chats">Chats</a> has what ran before${
        mayEnd ? html`, and <a href="#/tools">Tools</a> calls one` : null}.</p></${Empty}>`}
    ${runs && chats.length === 0 && html`<${Empty} title="Nothing that runs fits"><p>Change the filter.</p></${Empty}>`}
    ${chats.length > 0 && html`<div class="table-frame"><table class="now">
      <thead><tr><th scope="col">Running</th><th scope="col" class="number wide">Since</th><th scope="col" class="number wide">CPU</th>
        <th scope="col" class="number wide">Memory</th><th scope="col" class="number wide">Processes</th>
        <th scope="col"><span class="sr">Actions</span></th></tr></thead>
      ${chats.map((one) => html`<${ChatRows} key=${one.chat} ...${one} at=${snapshot?.at_unix_ms} offset=${offset} share=${share} mayEnd=${mayEnd} />`)}
    </table></div>`}
    ${snapshot?.unanswered && html`<p class="hint more">The agents of ${snapshot.unanswered.join(", ")} do not answer; their processes are missing here.</p>`}
    ${left ? html`<p class="hint more">${left.toLocaleString()} more run; this list has the first ${MOST} calls and processes.</p>` : null}`;
}

/** @param {{query: Record<string, string>, change: (changes: Record<string, string>) => void}} properties */
function Filters({ query, change }) {
  const [text, setText] = useDraft(query.text);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    change({ text: text.trim() });
  };
  return html`<form class="filters" role="search" onSubmit=${send}>
    <label class="grows"><span>Chat, workspace, token, tool or command</span>
      <input type="search" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <label><span>Order</span><select value=${query.order} onChange=${(/** @type {any} */ event) => change({ order: event.target.value })}>
      <option value="start">longest first</option><option value="cpu">most CPU first</option><option value="memory">most memory first</option></select></label>
    <button type="submit">Filter</button>
  </form>`;
}

/** @param {any} properties */
function ChatRows({ chat, calls, processes, at, offset, share, mayEnd }) {
  const workspace = [...calls, ...processes].find((one) => one.workspace && one.workspace !== "default")?.workspace;
  const commands = processes.map((/** @type {NowProcess} */ process) => process.command);
  const ofCall = (/** @type {NowCall} */ call) => processes.filter((/** @type {NowProcess} */ process) => process.call === call.id);
  const others = processes.filter((/** @type {NowProcess} */ process) => !calls.some((/** @type {NowCall} */ call) => call.id === process.call));
  return html`<tbody>
    <tr class="group"><th scope="rowgroup">${chat === "" ? "Without a chat" : html`<${ChatLink} chat=${chat} />`}
        ${workspace && html`<span class="tag" title=${`Workspace ${line(workspace, 128)}`}>${line(workspace, 60)}</span>`}</th>
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
      ${call.token && html`<span class="by token">by ${line(call.token, 40)}</span>`}</div>
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
  const cpu = share === undefined ? durationText(usage.cpu_ms) : shareText(share);
  const label = html`<code title=${line(command, 1000)}>${line(command, 240)}</code>`;
  return html`<tr class=${below ? "below" : ""}>
    <td><div class="what"><${State} state=${process.status} text=${process.status === "lingering" ? "lingering" : below ? "process" : "background"} />
        ${chat ? html`<${ChatLink} chat=${chat} call=${call}>${label}</${ChatLink}>` : label}</div>
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

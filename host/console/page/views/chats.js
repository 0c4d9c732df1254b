// The chats: those with running calls first.

import { html } from "../parts/html.js";
import { ChatLink, Count, Empty, Failure, Loading, Moment, State, usePages } from "../parts/basics.js";
import { useSnapshot } from "../parts/live.js";
import { useDraft, useQuery } from "../parts/query.js";
import { address } from "../core/api.js";
import { counted, line } from "../core/text.js";

/** @param {{session: import("../core/session.js").Session}} properties */
export function Chats({ session }) {
  // A token for some tools gets calls of these, and no list of chats.
  return session.tools == null ? html`<${AllChats} session=${session} />` : html`<${CallsOfTools} session=${session} />`;
}

/** @param {any} properties */
function Filter({ value, then, label, hint }) {
  const [text, setText] = useDraft(value);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    then(text.trim());
  };
  return html`<form class="filters" role="search" onSubmit=${send}>
    <label class="grows"><span>${label}</span><input type="search" value=${text} placeholder=${hint} pattern="[A-Za-z0-9._:@\\-]*"
      onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <button type="submit">Filter</button>
  </form>`;
}

/**
 * Says what runs in a chat, as the list has it or, once there is one, the snapshot of all that runs.
 * @param {{one: any, snapshot?: import("../parts/live.js").Snapshot}} properties
 */
function ChatState({ one, snapshot }) {
  const own = (/** @type {{chat?: string}[]} */ list) => list.filter(({ chat }) => chat === one.chat).length;
  const calls = snapshot ? own(snapshot.calls) : one.running;
  const processes = snapshot ? own(snapshot.processes) : 0;
  const parts = [calls > 0 && counted(calls, "call"), processes > 0 && counted(processes, "process", "processes")].filter(Boolean);
  if (parts.length > 0) return html`<${State} state="running" text=${parts.join(", ")} />`;
  return html`<${State} state="closed" text=${one.ended_at_unix_ms ? "ended" : "idle"} />`;
}

/** @param {any} properties */
function AllChats({ session }) {
  const [{ prefix }, change] = useQuery({ prefix: session.chats ?? "" });
  const pages = usePages((after) => address("/v1/chats", { prefix, after, limit: 100 }), "chats", [prefix]);
  const { snapshot } = useSnapshot();
  return html`<div class="head"><h1>Chats</h1><${Count} pages=${pages} one="chat" />
      <button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <${Filter} value=${prefix} then=${(/** @type {string} */ text) => change({ prefix: text })} label="Name begins with" hint="support-" />
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Empty} title="No chats">
      <p>A chat is there from its first call on, for as long as the replies of its calls are kept.</p></${Empty}>`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table class="stacks" role="table">
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Chat</th><th role="columnheader" scope="col">Runs</th>
        <th role="columnheader" scope="col">Last call</th><th role="columnheader" scope="col">Token</th></tr></thead>
      <tbody role="rowgroup">${pages.entries.map((one) => html`<tr role="row" key=${one.chat}>
        <th role="rowheader" scope="row"><${ChatLink} chat=${one.chat} />${one.workspace && html`<span class="tag" title=${`Workspace ${line(one.workspace, 128)}`}>${line(one.workspace, 60)}</span>`}</th>
        <td role="cell"><${ChatState} one=${one} snapshot=${snapshot} /></td>
        <td role="cell" class=${one.last_call_at_unix_ms ? "time" : "none"} data-label="last call">${one.last_call_at_unix_ms ? html`<${Moment} at=${one.last_call_at_unix_ms} />` : "–"}</td>
        <td role="cell" class=${one.token ? "short" : "none"} data-label="by">${one.token ? line(one.token, 40) : "–"}</td></tr>`)}</tbody>
    </table></div>`}
    ${pages.more}`;
}

/** @param {any} properties */
function CallsOfTools({ session }) {
  const pages = usePages((after) => address("/v1/calls", { prefix: session.chats, after, limit: 100 }), "calls", []);
  return html`<div class="head"><h1>Chats</h1><${Count} pages=${pages} one="call" />
      <button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <p class="hint">This token is for some tools: these are their calls.</p>
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Empty} title="No calls" />`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table class="stacks" role="table">
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Chat</th><th role="columnheader" scope="col">Tool</th>
        <th role="columnheader" scope="col">State</th><th role="columnheader" scope="col">Began</th></tr></thead>
      <tbody role="rowgroup">${pages.entries.map((call) => html`<tr role="row" key=${`${call.chat}/${call.id}`}>
        <th role="rowheader" scope="row"><${ChatLink} chat=${call.chat} call=${call.id} /></th>
        <td role="cell" class="short">${line(call.tool, 60)}</td>
        <td role="cell"><${State} state=${call.state} /></td>
        <td role="cell" class="time"><${Moment} at=${call.began_at_unix_ms} /></td></tr>`)}</tbody>
    </table></div>`}
    ${pages.more}`;
}

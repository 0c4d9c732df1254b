// The chats: those with running calls first.

import { html, useState } from "../parts/html.js";
import { ChatLink, Empty, Failure, Loading, Moment, State, usePages } from "../parts/basics.js";
import { address } from "../core/api.js";
import { counted, line } from "../core/text.js";

/** @param {{session: import("../core/session.js").Session}} properties */
export function Chats({ session }) {
  // A token for some tools gets calls of these, and no list of chats.
  return session.tools == null ? html`<${AllChats} session=${session} />` : html`<${CallsOfTools} session=${session} />`;
}

/** @param {any} properties */
function Filter({ value, then, label, hint }) {
  const [text, setText] = useState(value);
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    then(text.trim());
  };
  return html`<form class="filters" role="search" onSubmit=${send}>
    <label><span>${label}</span><input type="search" value=${text} placeholder=${hint} pattern="[A-Za-z0-9._:@\\-]*"
      onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
    <button type="submit">Filter</button>
  </form>`;
}

/** @param {any} properties */
function AllChats({ session }) {
  const own = session.chats ?? "";
  const [prefix, setPrefix] = useState(own);
  const pages = usePages((after) => address("/v1/chats", { prefix, after, limit: 100 }), "chats", [prefix]);
  return html`<div class="head"><h1>Chats</h1><button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <${Filter} value=${prefix} then=${setPrefix} label="Name begins with" hint="support-" />
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Empty} title="No chats">
      <p>A chat is there from its first call on, for as long as the replies of its calls are kept.</p></${Empty}>`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table>
      <thead><tr><th scope="col">Chat</th><th scope="col">State</th><th scope="col">Last call</th><th scope="col" class="wide">Token</th></tr></thead>
      <tbody>${pages.entries.map((one) => html`<tr key=${one.chat}>
        <th scope="row"><${ChatLink} chat=${one.chat} />${one.workspace && html`<span class="tag">${line(one.workspace, 60)}</span>`}</th>
        <td>${one.running > 0 ? html`<${State} state="running" text=${counted(one.running, "call")} />` : html`<${State} state="closed" text="idle" />`}</td>
        <td>${one.last_call_at_unix_ms ? html`<${Moment} at=${one.last_call_at_unix_ms} />` : "–"}</td>
        <td class="wide">${line(one.token, 40)}</td></tr>`)}</tbody>
    </table></div>`}
    ${pages.more}`;
}

/** @param {any} properties */
function CallsOfTools({ session }) {
  const pages = usePages((after) => address("/v1/calls", { prefix: session.chats, after, limit: 100 }), "calls", []);
  return html`<div class="head"><h1>Chats</h1><button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <p class="hint">This token is for some tools: these are their calls.</p>
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Empty} title="No calls" />`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table>
      <thead><tr><th scope="col">Chat</th><th scope="col">Tool</th><th scope="col">State</th><th scope="col">Began</th></tr></thead>
      <tbody>${pages.entries.map((call) => html`<tr key=${`${call.chat}/${call.id}`}>
        <th scope="row"><${ChatLink} chat=${call.chat} call=${call.id} /></th><td>${line(call.tool, 60)}</td>
        <td><${State} state=${call.state} /></td><td><${Moment} at=${call.began_at_unix_ms} /></td></tr>`)}</tbody>
    </table></div>`}
    ${pages.more}`;
}

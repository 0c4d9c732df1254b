// The audit trail, newest first. It shows denials until all lines are asked for.

import { html, useEffect, useState } from "../parts/html.js";
import { ChatLink, Count, Empty, Failure, Loading, Moment, Name, usePages } from "../parts/basics.js";
import { useQuery } from "../parts/query.js";
import { address } from "../core/api.js";
import { line } from "../core/text.js";

const EVENTS = ["denied", "command_denied", "approval_refused", "call_started", "call", "call_cancelled", "chat_freed", "chat_ended", "process_start",
  "process_refused", "process_signal", "process_input", "port_connect", "file_write", "file_remove", "file_share", "link_used", "http_request", "used", "plugin", "plugin_failed", "plugin_changed", "plugin_removed", "plugin_enabled",
  "plugin_disabled", "plugin_reloaded", "plugin_quarantined", "tokens_changed", "console_link", "console_login", "settings_changed",
  "configuration_refused", "workspace_created", "workspace_making", "workspace_made", "workspace_changed", "workspace_started", "workspace_stopped", "workspace_removed", "chat_bound", "agent_connected", "agent_disconnected", "approval_asked", "approval_granted", "lost", "left_out",
  "start", "stop"];

const COLUMNS = ["time", "event", "principal", "chat", "call", "plugin", "tool"];

/** What the address may say. */
const FIELDS = { show: ["denials", "everything"], event: ["", ...EVENTS], token: "", chat: "", plugin: "" };

/** @param {{session: import("../core/session.js").Session}} properties */
export function Audit({ session }) {
  const [filter, change] = useQuery(FIELDS);
  const { show, ...fields } = filter;
  const asked = { ...fields, denied: show === "denials" && filter.event === "" };
  const pages = usePages((after) => address("/v1/audit", { ...asked, limit: 100, after }), "lines", Object.values(asked));
  return html`<div class="head"><h1>Audit</h1><${Count} pages=${pages} one="line" />
      <button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <${Filters} filter=${filter} change=${change} />
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Nothing} denied=${asked.denied} page=${pages.first} />`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table class="audit stacks" role="table">
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Time</th><th role="columnheader" scope="col">Event</th>
        <th role="columnheader" scope="col">Chat</th><th role="columnheader" scope="col">Details</th></tr></thead>
      <tbody role="rowgroup">${pages.entries.map((entry, at) => html`<${Entry} key=${at} entry=${entry} />`)}</tbody></table></div>`}
    ${pages.more}`;
}

/** @param {any} properties */
function Nothing({ denied, page }) {
  if (page?.recorded === false) {
    return html`<${Empty} title="No audit trail"><p>This server records none: it was started without a state directory, or with <code>--no-audit</code>.</p></${Empty}>`;
  }
  if (page?.next) return html`<${Empty} title=${denied ? "No denials among the newest lines" : "None of the newest lines fits"}><p>Older lines may have some.</p></${Empty}>`;
  return html`<${Empty} title=${denied ? "No denials" : "No lines"}>
    <p>${denied ? "Nothing was denied, as far as the trail is kept. Choose “everything” to see all lines." : "No line fits."}</p></${Empty}>`;
}

/** @param {{filter: Record<string, string>, change: (changes: Record<string, string>) => void}} properties */
function Filters({ filter, change }) {
  const [draft, setDraft] = useState(filter);
  useEffect(() => setDraft(filter), [filter]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    const changed = { ...draft, [name]: event.target.value };
    setDraft(changed);
    if (name === "show" || name === "event") change(changed);
  };
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    change(draft);
  };
  return html`<form class="filters" role="search" aria-label="Audit trail" onSubmit=${send}>
    <label><span>Show</span><select value=${draft.event ? "everything" : draft.show} disabled=${draft.event !== ""} onChange=${set("show")}>
      <option value="denials">denials</option><option value="everything">everything</option></select></label>
    <label><span>Event</span><select value=${draft.event} onChange=${set("event")}><option value="">any</option>
      ${EVENTS.map((event) => html`<option value=${event}>${event}</option>`)}</select></label>
    <label><span>Token</span><input value=${draft.token} onInput=${set("token")} /></label>
    <label><span>Chat</span><input value=${draft.chat} onInput=${set("chat")} /></label>
    <label><span>Plugin</span><input value=${draft.plugin} onInput=${set("plugin")} /></label>
    <button type="submit">Filter</button>
  </form>`;
}

/** Returns a value of a line; digests are cut, and empty lists left out. @param {unknown} value */
function factText(value) {
  if (Array.isArray(value) && value.length === 0) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[0-9a-f]{64}$/.test(text) ? `${text.slice(0, 12)}…` : line(text, 400);
}

/** @param {{entry: any}} properties */
function Entry({ entry }) {
  const isDenial = /denied|refused|failed|quarantined/.test(entry.event) || (entry.event === "call" && entry.outcome === "denied");
  const rest = Object.entries(entry).filter(([name, value]) => !COLUMNS.includes(name) && value !== null);
  const facts = rest.map(([name, value]) => [name.replaceAll("_", " "), factText(value)]).filter(([, text]) => text !== "");
  const time = Date.parse(entry.time);
  const by = [entry.principal, entry.plugin, entry.tool].filter(Boolean).map((one) => line(one, 60));
  return html`<tr role="row" class=${isDenial ? "is-denial" : ""}>
    <td role="cell" class=${Number.isNaN(time) ? "" : "time"}>${Number.isNaN(time) ? line(entry.time, 40) : html`<${Moment} at=${time} />`}</td>
    <th role="rowheader" scope="row"><code>${line(entry.event, 40)}</code><div class="by">${by.join(" · ")}</div></th>
    <td role="cell" class=${entry.chat ? "chat" : "chat none"}>${entry.chat ? html`<${ChatLink} chat=${entry.chat} call=${entry.call} />` : "–"}</td>
    <td role="cell" class="details">${facts.map(([name, text]) => html`<span class="fact">${line(name, 40)} <span><${Name} text=${text} most=${400} /></span></span> `)}</td>
  </tr>`;
}

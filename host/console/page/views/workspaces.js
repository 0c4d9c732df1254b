// The workspaces, and what runs in them.

import { html, useState } from "../parts/html.js";
import { Count, Empty, Failure, Loading, Moment, Name, State, usePages } from "../parts/basics.js";
import { ask } from "../parts/dialog.js";
import { address, api } from "../core/api.js";
import { may } from "../core/session.js";
import { counted, line, sizeText } from "../core/text.js";

/** @param {{session: import("../core/session.js").Session}} properties */
export function Workspaces({ session }) {
  const pages = usePages((after) => address("/v1/workspaces", { limit: 100, after }), "workspaces", []);
  const mayEnd = may(session, "call");
  return html`<div class="head"><h1>Workspaces</h1><${Count} pages=${pages} one="workspace" />
      <button type="button" class="small" onClick=${pages.again}>Refresh</button></div>
    <${Failure} problem=${pages.problem} again=${pages.again} />
    ${pages.loading && pages.entries.length === 0 && html`<${Loading} />`}
    ${!pages.loading && !pages.problem && pages.entries.length === 0 && html`<${Empty} title="No workspaces"><p>None that this token may use.</p></${Empty}>`}
    ${pages.entries.length > 0 && html`<div class="table-frame"><table class="stacks" role="table">
      <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Workspace</th><th role="columnheader" scope="col">State</th>
        <th role="columnheader" scope="col" class="number">Chats</th><th role="columnheader" scope="col" class="number">Runs</th>
        <th role="columnheader" scope="col">Used</th><th role="columnheader" scope="col"><span class="sr">Actions</span></th></tr></thead>
      <tbody role="rowgroup">${pages.entries.map((one) => html`<${Row} key=${one.name} one=${one} mayEnd=${mayEnd} again=${pages.again} />`)}</tbody>
    </table></div>`}
    ${pages.more}`;
}

/** Says how a workspace was made. @param {any} one */
function originText({ provider, agent, url, template, git, quota, idle_seconds }) {
  const parts = [provider === "host" ? "opened at the start" : provider];
  if (agent) parts.push(`agent ${agent}`);
  if (url) parts.push(url);
  if (template) parts.push(`from the template ${template}`);
  if (git) parts.push(`from ${git.url}${git.branch ? ` (${git.branch})` : ""}`);
  if (quota?.bytes !== undefined) parts.push(`at most ${sizeText(quota.bytes)}`);
  if (quota?.files !== undefined) parts.push(`at most ${counted(quota.files, "file")}`);
  if (idle_seconds) parts.push(`removed after ${counted(idle_seconds, "second")} without use`);
  return line(parts.join(", "), 400);
}

/** @param {any} properties */
function Row({ one, mayEnd, again }) {
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const { name, state, chats, calls, processes, used_at_unix_ms, gaps = [] } = one;
  const runs = (calls ?? 0) + (processes ?? 0);
  const remove = () => ask({
    title: "Remove this workspace?",
    text: html`<p><code>${line(name, 128)}</code> is removed with its files.</p>
      ${runs > 0 && html`<p>${`${counted(calls ?? 0, "call")} and ${counted(processes ?? 0, "process", "processes")} that run in it are ended.`}</p>`}
      ${chats > 0 && html`<p>${counted(chats, "chat")} that ${chats === 1 ? "belongs" : "belong"} to it can no longer call tools.</p>`}`,
    action: "Remove it",
    keep: "Keep it",
    then: async () => {
      await api(address(`/v1/workspaces/${name.split("/").map(encodeURIComponent).join("/")}`, { force: runs > 0 }), { method: "DELETE" });
      setProblem(undefined);
      again();
    },
  });
  const running = [calls > 0 && counted(calls, "call"), processes > 0 && counted(processes, "process", "processes")].filter(Boolean).join(", ");
  return html`<tr role="row">
    <th role="rowheader" scope="row"><span class="name"><${Name} text=${name} /></span><div class="by"><${Name} text=${originText(one)} most=${400} /></div>
      ${one.problem && html`<p class="failure">${line(one.problem, 500)}</p>`}
      ${gaps.length > 0 && html`<p class="note is-warning">Not enforced: ${line(gaps.join("; "), 400)}</p>`}
      <${Failure} problem=${problem} /></th>
    <td role="cell"><${State} state=${state} /></td>
    <td role="cell" class=${chats === undefined ? "number none" : "number"} data-label="chats">${chats ?? "–"}</td>
    <td role="cell" class=${running ? "number" : "number none"} data-label="runs">${running ? html`<a href=${`#/now?${new URLSearchParams({ text: name })}`}>${running}</a>` : "–"}</td>
    <td role="cell" class=${used_at_unix_ms ? "time" : "none"} data-label="used">${used_at_unix_ms ? html`<${Moment} at=${used_at_unix_ms} />` : "–"}</td>
    <td role="cell" class="actions">${mayEnd && one.provider !== "host" && html`<button type="button" class="small danger-text" onClick=${remove}
      aria-label=${`Remove ${line(name, 80)}`}>Remove…</button>`}</td>
  </tr>`;
}

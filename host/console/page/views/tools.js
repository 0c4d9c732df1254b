// The tools: what they are for, a form to call them, and their definitions as each provider gets them.

import { html, useState } from "../parts/html.js";
import { ChatLink, Copy, Empty, Failure, Json, Loading, State, useLoaded } from "../parts/basics.js";
import { useQuery } from "../parts/query.js";
import { cancelCall } from "../parts/ending.js";
import { address, api, callAddress } from "../core/api.js";
import { may, newCallId, ownChat } from "../core/session.js";
import { counted, durationText, line, visible } from "../core/text.js";
import { Form } from "./form.js";
import { Outcome } from "./call.js";

const FORMATS = ["json", "openai", "openai-responses", "anthropic", "gemini", "bedrock", "mcp"];

/** @param {{session: import("../core/session.js").Session, rest: string[]}} properties */
export function Tools({ session, rest }) {
  const [name, part = "call"] = rest;
  const loaded = useLoaded((signal) => api("/v1/tools", { signal }), []);
  const tools = loaded.value?.tools ?? [];
  const tool = tools.find((/** @type {any} */ one) => one.name === name) ?? (name === undefined ? tools[0] : undefined);
  return html`<div class="head"><h1>Tools</h1>${tools.length > 0 && html`<p class="sum">${counted(tools.length, "tool")}</p>`}</div>
    <${Failure} problem=${loaded.problem} again=${loaded.again} />
    ${loaded.loading && !loaded.value && html`<${Loading} />`}
    ${loaded.value && tools.length === 0 && html`<${Empty} title="No tools"><p>No plugin offers a tool to this token.</p></${Empty}>`}
    ${tools.some((/** @type {any} */ one) => one.name === "find_tools" && one.plugin === "find_tools") && html`<p class="hint">The tool mode of this server is
      search: more tools are named in the description of <a href="#/tools/find_tools">find_tools</a>, and each chat is offered those that it has found.</p>`}
    ${loaded.value && tools.length > 0 && html`<div class="split">
      <nav aria-label="Tools"><ul class="choices">${tools.map((/** @type {any} */ one) => html`<li key=${one.name}>
        <a href=${`#/tools/${encodeURIComponent(one.name)}`} aria-current=${tool === one ? "true" : undefined}>
          <strong>${line(one.name, 80)}</strong><small>${line(one.title ?? one.plugin, 80)}</small></a></li>`)}</ul></nav>
      <div>${tool ? html`<${Tool} key=${tool.name} tool=${tool} part=${part} session=${session} />` : html`<p>There is no tool ${line(name, 80)}.</p>`}</div>
    </div>`}`;
}

/** @param {any} properties */
function Tool({ tool, part, session }) {
  const base = `#/tools/${encodeURIComponent(tool.name)}`;
  const { read_only, non_destructive, idempotent, closed_world } = tool.hints ?? {};
  const hints = [read_only && "reads only", non_destructive && "destroys nothing", idempotent && "idempotent", closed_world && "closed world"].filter(Boolean);
  const parts = [["call", "Call"], ["definition", "Definition"]].filter(([key]) => key !== "call" || may(session, "call"));
  const chosen = parts.some(([key]) => key === part) ? part : parts[0][0];
  return html`<h2>${line(tool.name, 80)} ${hints.map((hint) => html`<span class="tag">${hint}</span>`)}</h2>
    <p class="prose">${visible(tool.description)}</p>
    <nav class="tabs" aria-label=${`Parts of ${line(tool.name, 80)}`}>${parts.map(([key, title]) => html`<a key=${key} href=${`${base}/${key}`}
      aria-current=${key === chosen ? "true" : undefined}>${title}</a>`)}</nav>
    ${chosen === "call" ? html`<${Caller} tool=${tool} session=${session} />` : html`<${Definition} tool=${tool} />`}`;
}

/** @param {any} properties */
function Caller({ tool, session }) {
  const [run, setRun] = useState(/** @type {any} */ (undefined));
  const chat = ownChat(session);
  const send = async (/** @type {any} */ values) => {
    const id = newCallId();
    const since = Date.now();
    setRun({ id, state: "running" });
    try {
      const outcome = await api(callAddress(chat, id), { method: "PUT", body: { tool: tool.name, arguments: values } });
      setRun({ id, state: outcome.state, outcome, took: Date.now() - since });
    } catch (problem) {
      setRun({ id, state: "failed", problem });
    }
  };
  const failed = run?.outcome?.is_error || run?.outcome?.structured?.success === false;
  const kind = run?.state === "finished" && failed ? "failed" : run?.state;
  return html`<${Form} schema=${tool.input_schema} send=${send} busy=${run?.state === "running"} action=${`Call ${line(tool.name, 60)}`} />
    <p class="hint">The call runs in a chat of this tab's own, <${ChatLink} chat=${chat} />.</p>
    ${run && html`<section class="result" aria-live="polite"><div class="process-head"><h2 class="part">Reply</h2>
        <span class="process-facts"><${State} state=${kind} text=${kind === "failed" && run.outcome ? "finished with an error" : line(kind, 24)} /> ${run.took !== undefined && html`<span class="by">${durationText(run.took)}</span>`}
        ${(run.outcome || run.state === "running") && html`<${ChatLink} chat=${chat} call=${run.id}>Open in its chat</${ChatLink}>`}
        ${run.state === "running" && html`<button type="button" class="small" onClick=${() => cancelCall({ chat, id: run.id, tool: tool.name })}>Cancel</button>`}</span></div>
      <${Failure} problem=${run.problem} />
      ${run.outcome && html`<${Outcome} outcome=${run.outcome} />`}
    </section>`}`;
}

/** @param {any} properties */
function Definition({ tool }) {
  const [query, change] = useQuery({ format: FORMATS, strict: ["no", "yes"] });
  const { format } = query;
  const strict = query.strict === "yes";
  const hasStrict = format.startsWith("openai");
  const loaded = useLoaded(async (signal) => {
    const list = await api(address("/v1/tools", { format, strict: hasStrict && strict }), { signal });
    return { format, list };
  }, [format, strict]);
  // The list before stays until the next one is there.
  const own = loaded.value && definitionOf(loaded.value.list, tool.name);
  return html`<div class="filters"><label><span>Format</span><select value=${format} onChange=${(/** @type {any} */ event) => change({ format: event.target.value })}>
      ${FORMATS.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      ${hasStrict && html`<label class="check"><input type="checkbox" checked=${strict} onChange=${(/** @type {any} */ event) => change({ strict: event.target.checked ? "yes" : "no" })} />
        <span>Strict mode</span></label>`}
      ${own && html`<${Copy} text=${JSON.stringify(own, null, 2)} label="Copy the definition" />`}</div>
    <${Failure} problem=${loaded.problem} again=${loaded.again} />
    ${own && html`<${Json} value=${own} label=${`Definition of ${line(tool.name, 80)} for ${loaded.value?.format}`} />`}`;
}

/** Finds the definition of one tool in a list of any format. @param {any} list @param {string} name */
function definitionOf(list, name) {
  const all = Array.isArray(list) ? list : list.tools;
  const flat = all.flatMap((/** @type {any} */ one) => one.functionDeclarations ?? [one]);
  return flat.find((/** @type {any} */ one) => (one.name ?? one.function?.name ?? one.toolSpec?.name) === name) ?? all;
}

// The plugins: what they are, what they may do, and how they fare.

import { html, useState } from "../parts/html.js";
import { Empty, Failure, Loading, Name, State, useLoaded } from "../parts/basics.js";
import { ask } from "../parts/dialog.js";
import { api } from "../core/api.js";
import { counted, durationText, line, sizeText } from "../core/text.js";

/** @param {unknown} _properties */
export function Plugins(_properties) {
  const loaded = useLoaded((signal) => api("/v1/plugins", { signal }), []);
  const plugins = loaded.value?.plugins ?? [];
  return html`<div class="head"><h1>Plugins</h1>${plugins.length > 0 && html`<p class="sum">${counted(plugins.length, "plugin")}</p>`}<button type="button" class="small" onClick=${loaded.again}>Refresh</button></div>
    <${Failure} problem=${loaded.problem} again=${loaded.again} />
    ${loaded.loading && !loaded.value && html`<${Loading} />`}
    ${loaded.value && plugins.length === 0 && html`<${Empty} title="No plugins" />`}
    <div class="cards">${plugins.map((/** @type {any} */ plugin) => html`<${Plugin} key=${plugin.name} plugin=${plugin} again=${loaded.again} />`)}</div>`;
}

/** @param {any} properties */
function Plugin({ plugin, again }) {
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const { name, state, tools = [], error, quarantined_ms } = plugin;
  const change = async (/** @type {string} */ what) => {
    setBusy(what);
    setProblem(undefined);
    try {
      await api(`/v1/plugins/${encodeURIComponent(name)}/${what}`, { method: "POST" });
      again();
    } catch (failed) {
      setProblem(/** @type {Error} */ (failed));
    } finally {
      setBusy("");
    }
  };
  const disable = () => ask({
    title: "Disable this plugin?",
    text: html`<p>Models no longer get ${counted(tools.length, "tool")} of <code>${line(name, 80)}</code>: ${line(tools.join(", "), 300)}.
      Calls that run now go on.</p>`,
    action: "Disable it",
    keep: "Keep it enabled",
    then: () => change("disable"),
  });
  const isOff = state === "disabled";
  return html`<article class="card" aria-label=${`Plugin ${line(name, 80)}`}>
    <div class="card-head"><h2>${line(name, 80)}</h2><${State} state=${state} />
      ${plugin.version && html`<span class="tag">${line(plugin.version, 40)}</span>`}
      ${plugin.embedded && html`<span class="tag">embedded</span>`}
      <span class="card-actions">
        ${isOff ? html`<button type="button" class="small" disabled=${busy !== ""} onClick=${() => change("enable")}>Enable</button>`
          : html`<button type="button" class="small" disabled=${busy !== ""} onClick=${disable}>Disable</button>`}
        <button type="button" class="small" disabled=${busy !== ""} onClick=${() => change("reload")}>${busy === "reload" ? "Loading…" : "Reload"}</button>
      </span></div>
    ${error && html`<p class="failure">${line(error, 1000)}</p>`}
    ${quarantined_ms && html`<p class="note is-bad">It trapped too often, and gets no calls for another ${durationText(quarantined_ms)}. A reload ends that.</p>`}
    <${Failure} problem=${problem} />
    <dl class="facts">${factsOf(plugin).map(([title, value]) => html`<div key=${title}><dt>${title}</dt><dd>${value}</dd></div>`)}</dl>
    <${Words} title="Tools" list=${tools} />
    <${Words} title="May" list=${plugin.grants} none="Nothing beyond computing." />
    <${Words} title="Imports" list=${plugin.imports} />
    <${Limits} limits=${plugin.limits} />
    ${plugin.component && html`<p class="by"><${Name} text=${plugin.component} most=${400} /></p>`}
    ${plugin.sha256 && html`<p class="by">SHA-256 <code>${line(plugin.sha256, 100)}</code></p>`}
  </article>`;
}

/** How the plugin fared since the start of the server. @param {any} plugin @returns {[string, string][]} */
function factsOf({ calls, traps, latency }) {
  /** @type {[string, string][]} */
  const facts = [];
  if (calls !== undefined) facts.push(["Calls", Number(calls).toLocaleString()]);
  if (traps !== undefined) facts.push(["Traps", Number(traps).toLocaleString()]);
  if (latency) facts.push(["Median", durationText(latency.median_ms)], ["99th percentile", durationText(latency.p99_ms)]);
  return facts;
}

/** @param {{title: string, list?: string[], none?: string}} properties */
function Words({ title, list, none }) {
  if (!list || (list.length === 0 && !none)) return null;
  return html`<div class="words"><h3>${title}</h3>${list.length === 0 ? html`<p>${none}</p>`
    : html`<ul>${list.map((one) => html`<li key=${one}>${line(one, 300)}</li>`)}</ul>`}</div>`;
}

const SIZES = ["memory", "reply", "log", "host_call_data", "host_data"];
const TIMES = ["guest_time", "deadline", "max_deadline", "cancel_grace"];

/** @param {{limits?: Record<string, number>}} properties */
function Limits({ limits }) {
  if (!limits || Object.keys(limits).length === 0) return null;
  const text = (/** @type {string} */ name, /** @type {number} */ value) =>
    SIZES.includes(name) ? sizeText(value) : TIMES.includes(name) ? durationText(value) : line(Number.isFinite(value) ? value.toLocaleString() : value, 80);
  return html`<details><summary>Limits</summary><dl class="facts">${Object.entries(limits).map(([name, value]) => html`<div key=${name}>
    <dt>${line(name.replaceAll("_", " "), 80)}</dt><dd>${text(name, value)}</dd></div>`)}</dl></details>`;
}

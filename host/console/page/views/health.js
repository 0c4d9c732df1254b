// What `toolhost doctor` says of this server, and how it confines commands.

import { html } from "../parts/html.js";
import { Failure, Json, Loading, State, useLoaded } from "../parts/basics.js";
import { api } from "../core/api.js";
import { counted, line } from "../core/text.js";

const ORDER = ["error", "warning", "ok"];

/** @param {unknown} _properties */
export function Health(_properties) {
  const loaded = useLoaded((signal) => api("/v1/health", { signal }), []);
  const checks = [...(loaded.value?.checks ?? [])].sort((/** @type {any} */ one, /** @type {any} */ other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  const { checks: _, ...rest } = loaded.value ?? {};
  const worst = checks[0]?.status;
  const count = (/** @type {string} */ status) => checks.filter((check) => check.status === status).length;
  const tally = ORDER.filter((status) => count(status) > 0).map((status) => (status === "ok" ? `${count(status)} ok` : counted(count(status), status)));
  const words = { error: "Something is broken", warning: "Something needs a look", ok: "All is well" };
  return html`<div class="head"><h1>Health</h1>${worst && html`<${State} state=${worst} text=${words[/** @type {"ok"} */ (worst)] ?? line(worst, 24)} />
      <p class="sum">${tally.join(", ")}</p>`}
      <button type="button" class="small" onClick=${loaded.again}>Check again</button></div>
    <${Failure} problem=${loaded.problem} again=${loaded.again} />
    ${loaded.loading && !loaded.value && html`<${Loading} />`}
    ${checks.length > 0 && html`<ul class="checks">${checks.map((check) => html`<li key=${check.name}>
      <${State} state=${check.status} /><div><strong>${line(check.name, 100)}</strong><p>${line(check.text, 1000)}</p>${check.advice && html`<p class="hint">${line(check.advice, 1000)}</p>`}</div></li>`)}</ul>`}
    ${Object.keys(rest).length > 0 && html`<details><summary>All facts</summary><${Json} value=${rest} label="Facts about the server" /></details>`}`;
}

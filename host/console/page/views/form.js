// A form made from a JSON Schema.

import { html, useId, useState } from "../parts/html.js";
import { line, visible } from "../core/text.js";

/** Returns the kind of control for a schema. @param {any} schema @returns {"choice" | "switch" | "number" | "text" | "lines" | "json"} */
function kindOf(schema) {
  if (typeof schema !== "object" || schema === null) return "json";
  if (Array.isArray(schema.enum)) return "choice";
  const types = [schema.type].flat().filter((type) => type !== "null");
  if (types.length !== 1) return "json";
  if (types[0] === "string") return "text";
  if (types[0] === "boolean") return "switch";
  if (types[0] === "integer" || types[0] === "number") return "number";
  if (types[0] === "array" && kindOf(schema.items) === "text") return "lines";
  return "json";
}

/**
 * Returns the value that a control stands for; `undefined` leaves the argument out.
 * @param {any} schema
 * @param {string} text
 * @param {boolean} required
 */
function valueOf(schema, text, required) {
  switch (kindOf(schema)) {
    case "text":
      return text === "" && !required ? undefined : text;
    case "choice": {
      const found = schema.enum.find((/** @type {any} */ value) => JSON.stringify(value) === text);
      return text === "" ? undefined : found;
    }
    case "switch":
      return text === "" ? undefined : text === "true";
    case "number":
      return text.trim() === "" ? undefined : Number(text);
    case "lines":
      return text === "" ? (required ? [] : undefined) : text.split("\n");
    default:
      return text.trim() === "" ? undefined : JSON.parse(text);
  }
}

/** Says what a schema allows. @param {any} schema */
function limitsText(schema) {
  const limits = [];
  if (schema.minimum !== undefined) limits.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) limits.push(`at most ${schema.maximum}`);
  if (schema.default !== undefined) limits.push(`default ${JSON.stringify(schema.default)}`);
  return limits.join(", ");
}

/** @param {{schema: any, send: (values: any) => void, busy: boolean, action: string}} properties */
export function Form({ schema, send, busy, action }) {
  const properties = Object.entries(schema?.properties ?? {});
  const required = new Set(schema?.required ?? []);
  const [texts, setTexts] = useState(/** @type {Record<string, string>} */ ({}));
  const [raw, setRaw] = useState(/** @type {string | undefined} */ (properties.length === 0 && schema?.additionalProperties !== false ? "{}" : undefined));
  const [problems, setProblems] = useState(/** @type {Record<string, string>} */ ({}));
  /** Reads the form. @param {Record<string, string>} found takes what is wrong */
  const read = (found) => {
    /** @type {Record<string, unknown>} */
    const values = {};
    for (const [name, of] of properties) {
      try {
        // A text that was never entered is missing; one that was emptied is an empty text.
        const value = texts[name] === undefined ? undefined : valueOf(of, texts[name], required.has(name));
        if (value !== undefined) values[name] = value;
        else if (required.has(name)) found[name] = "This argument is required.";
        if (typeof value === "number" && Number.isNaN(value)) found[name] = "This is not a number.";
      } catch (error) {
        found[name] = `This is not JSON: ${/** @type {Error} */ (error).message}`;
      }
    }
    return values;
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    /** @type {Record<string, string>} */
    const found = {};
    let values;
    if (raw === undefined) values = read(found);
    else {
      try {
        values = JSON.parse(raw);
      } catch (error) {
        found[""] = `This is not JSON: ${/** @type {Error} */ (error).message}`;
      }
    }
    setProblems(found);
    if (Object.keys(found).length === 0) send(values);
  };
  const toggle = () => {
    setProblems({});
    if (raw === undefined) return setRaw(JSON.stringify(read({}), null, 2));
    try {
      const values = JSON.parse(raw);
      const back = properties.filter(([name]) => values[name] !== undefined).map(([name, of]) => [name, textOf(of, values[name])]);
      setTexts(Object.fromEntries(back));
      setRaw(undefined);
    } catch (error) {
      setProblems({ "": `This is not JSON: ${/** @type {Error} */ (error).message}` });
    }
  };
  return html`<form class="arguments" onSubmit=${submit} noValidate>
    ${raw === undefined
      ? properties.map(([name, of]) => html`<${Field} key=${name} name=${name} schema=${of} required=${required.has(name)} text=${texts[name] ?? ""}
          problem=${problems[name]} set=${(/** @type {string} */ text) => setTexts((before) => ({ ...before, [name]: text }))} />`)
      : html`<${Field} name="Arguments as JSON" schema=${{}} required=${true} text=${raw} problem=${problems[""]} set=${setRaw} />`}
    ${properties.length === 0 && raw === undefined && html`<p class="hint">This tool takes no arguments.</p>`}
    <div class="actions"><button type="submit" class="primary" disabled=${busy}>${busy ? "Running…" : action}</button>
      ${properties.length > 0 && html`<button type="button" class="small" aria-pressed=${raw !== undefined} onClick=${toggle}>Edit as JSON</button>`}</div>
  </form>`;
}

/** Returns the text of a control for a value. @param {any} schema @param {any} value */
function textOf(schema, value) {
  const kind = kindOf(schema);
  if (kind === "text" && typeof value === "string") return value;
  if (kind === "lines" && Array.isArray(value)) return value.join("\n");
  if (kind === "switch" || kind === "number") return String(value);
  return JSON.stringify(value, null, kind === "json" ? 2 : undefined);
}

/** @param {any} properties */
function Field({ name, schema, required, text, problem, set }) {
  const id = useId();
  const hint = [visible(schema.description ?? ""), limitsText(schema)].filter(Boolean).join(" ");
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const common = { id, required, "aria-describedby": described, "aria-invalid": problem ? "true" : undefined,
    onInput: (/** @type {any} */ event) => set(event.target.value) };
  return html`<div class="field">
    <label for=${id}>${line(name, 80)}${required ? html`<span class="required" aria-hidden="true"> required</span>` : null}</label>
    <${Control} kind=${kindOf(schema)} schema=${schema} text=${text} common=${common} name=${name} />
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${problem && html`<p class="failure" id=${`${id}-problem`} role="alert">${line(problem, 300)}</p>`}
  </div>`;
}

/** @param {any} properties */
function Control({ kind, schema, text, common, name }) {
  if (kind === "choice" || kind === "switch") {
    const values = kind === "switch" ? ["true", "false"] : schema.enum.map((/** @type {any} */ value) => JSON.stringify(value));
    const named = kind === "switch" ? { true: "yes", false: "no" } : undefined;
    return html`<select ...${common} onChange=${common.onInput} value=${text}><option value="">${common.required ? "Choose one" : "not given"}</option>
      ${values.map((/** @type {any} */ value) => html`<option value=${value}>${line(named?.[/** @type {"true"} */ (value)] ?? value.replace(/^"|"$/g, ""), 120)}</option>`)}</select>`;
  }
  if (kind === "number") return html`<input type="text" inputmode="numeric" ...${common} value=${text} />`;
  const isLong = kind !== "text" || ["command", "content", "text", "code", "script", "query"].includes(name) || text.length > 60
    || text.includes("\n");
  return html`<textarea rows=${isLong ? Math.min(14, Math.max(kind === "json" ? 4 : 2, text.split("\n").length)) : 1} spellcheck=${false}
    ...${common} value=${text} placeholder=${kind === "lines" ? "One on each line" : kind === "json" ? "JSON" : ""}></textarea>`;
}

// Typing into a process: into its terminal, or a line at a time into its open input.

import { html, useEffect, useRef, useState } from "../parts/html.js";
import { Failure } from "../parts/basics.js";
import { api, processAddress } from "../core/api.js";
import { line, visible } from "../core/text.js";

/**
 * What a terminal shows, as the server says.
 * @typedef {{rows: number, columns: number, text: string, cursor_row?: number, cursor_column?: number, title?: string, full: boolean,
 *   application_keys: boolean}} Screen
 */

/** What a terminal sends for the keys that write nothing. @type {Record<string, string>} */
const KEYS = {
  Enter: "\r", Backspace: "\x7f", Escape: "\x1b", Delete: "\x1b[3~", Insert: "\x1b[2~", PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  F1: "\x1bOP", F2: "\x1bOQ", F3: "\x1bOR", F4: "\x1bOS", F5: "\x1b[15~", F6: "\x1b[17~", F7: "\x1b[18~", F8: "\x1b[19~", F9: "\x1b[20~",
  F10: "\x1b[21~",
};

/** The last letter of the keys whose sequence a program can change. @type {Record<string, string>} */
const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };

/** The keys with a button: those that the page or the browser keeps for itself. */
const BUTTONS = [["Ctrl-C", "\x03"], ["Ctrl-D", "\x04"], ["Esc", "\x1b"], ["Tab", "\t"]];

/** How often a screen is read anew while a process runs, in milliseconds. */
const LOOK = 1000;

/** How soon after an input, in milliseconds: most programs have answered by then. */
const SOON = [60, 250];

/**
 * Returns what a terminal sends for a key; `undefined` if the page or the browser has the key.
 * @param {KeyboardEvent} event
 * @param {boolean} application
 */
function sentFor(event, application) {
  const { key, ctrlKey, altKey, metaKey } = event;
  if (metaKey) return undefined;
  if (Object.hasOwn(KEYS, key)) return KEYS[key];
  if (Object.hasOwn(CURSOR, key)) return `\x1b${application ? "O" : "["}${CURSOR[key]}`;
  if (ctrlKey && !altKey && /^[a-z[\\\]^]$/i.test(key)) return String.fromCharCode(key.toUpperCase().charCodeAt(0) & 0x1f);
  if (ctrlKey || [...key].length !== 1) return undefined;
  return altKey ? `\x1b${key}` : key;
}

/**
 * The place to type into a process that takes input; nothing for another one.
 * @param {{process: {id: string, command: string, total_bytes: number}, chat: string}} properties
 */
export function Typing({ process, chat }) {
  const { id, command, total_bytes } = process;
  const base = processAddress(chat, id);
  const [details, setDetails] = useState(/** @type {{takes_input: boolean, screen?: Screen} | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const queue = useRef(Promise.resolve());
  const alive = useRef(true);
  const look = () => api(base).then((now) => alive.current && setDetails(now), () => {});
  useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, [base]);
  useEffect(() => void look(), [base, total_bytes]);
  const open = details?.takes_input === true;
  useEffect(() => {
    if (!open) return;
    const timer = setInterval(() => document.hidden || look(), LOOK);
    return () => clearInterval(timer);
  }, [base, open]);
  if (!details || !open) return null;
  // One after another, in the order in which they were typed.
  const send = (/** @type {object} */ body) => {
    queue.current = queue.current
      .then(() => api(`${base}/input`, { method: "POST", body }))
      .then(() => alive.current && setProblem(undefined), (error) => alive.current && setProblem(error))
      .then(() => SOON.forEach((after) => setTimeout(() => alive.current && look(), after)));
  };
  const name = line(command, 80);
  return html`<div class="typing">
    ${details.screen ? html`<${TerminalPart} screen=${details.screen} name=${name} send=${send} />` : html`<${LinePart} name=${name} send=${send} />`}
    ${problem && html`<${Failure} problem=${problem} />`}
  </div>`;
}

/** @param {{screen: Screen, name: string, send: (body: object) => void}} properties */
function TerminalPart({ screen, name, send }) {
  const type = (/** @type {string} */ text) => send({ text });
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    // With Tab, the keyboard leaves the terminal.
    const sent = event.key === "Tab" ? undefined : sentFor(event, screen.application_keys);
    if (sent === undefined || event.isComposing) return;
    event.preventDefault();
    type(sent);
  };
  const onPaste = (/** @type {ClipboardEvent} */ event) => {
    event.preventDefault();
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text) type(text.replace(/\r?\n/g, "\r"));
  };
  return html`<div class="typing-bar"><span>${line(screen.title || "Terminal", 80)}</span>
      <span>${BUTTONS.map(([label, keys]) => html`<button type="button" class="small" onClick=${() => type(keys)}>${label}</button>`)}</span></div>
    <pre class="typing-screen" tabindex="0" role="textbox" aria-multiline="true" aria-label=${`Terminal of ${name}: what you type goes there`}
      onKeyDown=${onKeyDown} onPaste=${onPaste}>${rowsOf(screen)}</pre>`;
}

/** Returns the rows of a screen, with the cursor in its place. @param {Screen} screen */
function rowsOf({ text, cursor_row, cursor_column = 1 }) {
  const rows = text.split("\n");
  if (cursor_row === undefined) return visible(text);
  while (rows.length < cursor_row) rows.push("");
  const row = [...rows[cursor_row - 1].padEnd(cursor_column)];
  const above = rows.slice(0, cursor_row - 1).map((one) => `${one}\n`).join("");
  const below = rows.slice(cursor_row).map((one) => `\n${one}`).join("");
  return html`${visible(above + row.slice(0, cursor_column - 1).join(""))}<span class="cursor">${visible(row[cursor_column - 1])}</span>${visible(row.slice(cursor_column).join("") + below)}`;
}

/** @param {{name: string, send: (body: object) => void}} properties */
function LinePart({ name, send }) {
  const [text, setText] = useState("");
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send({ text: `${text}\n` });
    setText("");
  };
  return html`<form class="typing-line" onSubmit=${onSubmit}>
    <input type="text" value=${text} autocomplete="off" aria-label=${`A line for ${name}`} placeholder="A line for its input"
      onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
    <button type="submit" class="small">Send</button>
    <button type="button" class="small" onClick=${() => send({ close: true })}>End the input</button>
  </form>`;
}

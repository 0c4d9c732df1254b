// A call in a timeline: what was asked, what ran, and what the model read.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../parts/html.js";
import { Block, Copy, Failure, Json, Moment, Name, Since, State, wrapping } from "../parts/basics.js";
import { cancelCall, endProcess } from "../parts/ending.js";
import { address, api, callAddress, processAddress } from "../core/api.js";
import { isLiveProcess, outerOf } from "../core/chat.js";
import { Output } from "../output/model.js";
import { Viewer } from "../output/viewer.js";
import { Typing } from "./typing.js";
import { counted, durationText, line, sizeText, visible } from "../core/text.js";

/** @typedef {import("../core/chat.js").Call} Call @typedef {import("../core/chat.js").Process} Process */

const isLive = (/** @type {{state: string}} */ { state }) => state === "running" || state === "queued";

/** Says how a call ended, in the words of its state. @param {Call} call */
const outcomeText = ({ state, success }) => (state === "finished" && success === false ? "finished with an error" : line(state, 24));
/** @param {Call} call */
const outcomeKind = ({ state, success }) => (state === "finished" && success === false ? "failed" : state);

/** @param {{call: Call, follower: import("../core/chat.js").ChatFollower, open: boolean, mayEnd: boolean, wanted: boolean,
 *   toggle: (open: boolean) => void}} properties */
export function CallCard({ call, follower, open, mayEnd, wanted, toggle }) {
  const item = useRef(/** @type {HTMLElement | null} */ (null));
  const processes = follower.processesOf(call.id);
  const took = call.duration_ms ?? (call.ended_at_unix_ms && call.ended_at_unix_ms - call.began_at_unix_ms);
  const subject = processes[0]?.command ?? follower.subjects.of(call);
  useEffect(() => {
    if (wanted) item.current?.scrollIntoView({ block: "start" });
  }, [wanted]);
  const body = `call-${call.id}`;
  const commands = processes.filter(({ status, background }) => status === "running" && !background).map(({ command }) => command);
  return html`<li class=${outerOf(call.id) === undefined ? "call" : "call nested"} ref=${item}>
    <div class="call-head">
      <button type="button" class="call-toggle" aria-expanded=${open} aria-controls=${open ? body : undefined} onClick=${() => toggle(!open)}>
        <span class="turner" aria-hidden="true"></span>
        <${State} state=${outcomeKind(call)} text=${outcomeText(call)} />
        <span class="tool">${line(call.tool, 80)}</span>
        <span class="summary" title=${`Call ${line(call.id, 128)}`}>${line(subject ?? call.id, 160)}</span>
      </button>
      <span class="call-facts">
        ${call.token && html`<span class="by">by ${line(call.token, 40)}</span>`}
        <span class="by"><${Moment} at=${call.began_at_unix_ms} /></span>
        ${call.guest_ms !== undefined && html`<span class="by">guest ${durationText(call.guest_ms)}</span>`}
        <span class="took">${isLive(call) ? html`<${Since} at=${call.began_at_unix_ms} />` : durationText(took)}</span>
        ${isLive(call) && mayEnd && html`<button type="button" class="small" onClick=${() => cancelCall({ ...call, processes: commands })}>Cancel</button>`}
      </span>
    </div>
    ${call.progress && isLive(call) && html`<${Progress} ...${call.progress} />`}
    ${open && html`<div class="call-body" id=${body}>
      <${Arguments} call=${call} processes=${processes} />
      ${processes.map((process) => html`<${ProcessPart} key=${process.id} process=${process} follower=${follower} mayEnd=${mayEnd} />`)}
      ${isLive(call) ? null : html`<${Reply} call=${call} follower=${follower} />`}
    </div>`}
  </li>`;
}

/** @param {{done: number, total?: number, message?: string}} properties */
function Progress({ done, total, message }) {
  return html`<div class="progress"><progress value=${total ? done : undefined} max=${total || undefined} aria-label="Progress"></progress>
    <span>${line(message ?? (total ? `${done} of ${total}` : done), 200)}</span></div>`;
}

/** @param {{call: Call, processes: Process[]}} properties */
function Arguments({ call, processes }) {
  const [kept, setKept] = useState(/** @type {any} */ (undefined));
  const live = isLive(call);
  useEffect(() => {
    const abort = new AbortController();
    api(`${callAddress(call.chat, call.id)}/arguments`, { signal: abort.signal }).then(setKept, () => setKept(null));
    return () => abort.abort();
  }, [call.chat, call.id, live]);
  if (kept === undefined) return null;
  if (kept === null) {
    // The command tells most of it.
    if (processes.length > 0) return null;
    return html`<p class="hint">The arguments of this call are not kept: see <code>keep_arguments</code> in the configuration.</p>`;
  }
  // The command is shown with its process.
  const { command, ...others } = kept;
  const values = processes.some((process) => process.command === command) ? others : kept;
  if (values === others && Object.keys(others).length === 0) return null;
  return html`<section><h2 class="part">Arguments</h2><${Values} values=${values} of="the arguments" /></section>`;
}

/** The values of an object, each under its name and with the note about it. @param {{values: any, of: string, notes?: Record<string, string>}} properties */
function Values({ values, of, notes = {} }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return html`<p class="hint">None.</p>`;
  return html`<dl class="values">${entries.map(([name, value]) => html`<dt>${line(name, 80)}</dt>
    <dd><${Value} value=${value} label=${`${line(name, 80)} of ${of}`} isLink=${name === "url"} />${Object.hasOwn(notes, name) && html` <span class="by">${notes[name]}</span>`}</dd>`)}</dl>`;
}

/** An address that a reply names, which opens in a page of its own that learns nothing of the console. @param {{to: string}} properties */
function Link({ to }) {
  return html`<a href=${to} target="_blank" rel="noopener noreferrer">${line(to, 400)}</a>`;
}

const isObject = (/** @type {any} */ value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {{value: any, label: string, depth?: number, isLink?: boolean}} properties */
function Value({ value, label, depth = 0, isLink = false }) {
  if (isLink && isWeb(value)) return html`<${Link} to=${value} />`;
  // Such as the files of an edit, each with its diff.
  if (Array.isArray(value) && value.length > 0 && value.length <= 20 && value.every(isObject) && depth < 3) {
    return value.map((one, at) => html`<dl class="values nested">${Object.entries(one).map(([name, inner]) => html`<dt>${line(name, 80)}</dt>
      <dd><${Value} value=${inner} label=${`${line(name, 80)} of ${at + 1} of ${label}`} depth=${depth + 1} isLink=${name === "url"} /></dd>`)}</dl>`);
  }
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > 120 || text.includes("\n") ? html`<${Block} text=${text} label=${label} />` : html`<code>${wrapping(visible(text))}</code>`;
}

/** Says how a process stands. @param {Process} process */
function statusText({ status, exit_code, signal, cause, reason, isGone }) {
  if (isGone && (status === "running" || status === "lingering")) return "ended";
  if (status === "running") return "running";
  if (status === "lost") return line(`lost: ${reason ?? "the host stopped while it ran"}`);
  const end = signal ? `ended by ${signal}` : `exit code ${exit_code}`;
  const why = cause && cause !== "itself" && cause !== "signalled" ? `, ${cause.replaceAll("_", " ")}` : "";
  return line(status === "lingering" ? `the shell has exited (${end}), and processes that it started run on` : end + why);
}

/** Says what the chat wants to be told, or was told. @param {import("../core/chat.js").Notice} notice */
function noticeText({ on, pattern, told, delivery }) {
  const matches = `its output matches ${line(JSON.stringify(pattern), 80)}`;
  if (!told) return `The chat is told when ${on === "exit" ? "it ends" : `${matches}, or it ends before`}.`;
  const what = { exited: "that it ended", matched: `that ${matches}`, lost: "that it was lost" }[told.event];
  const sent = { due: ", and the webhook is being told", done: ", and the webhook too", given_up: "; the webhook did not take it" };
  return `The chat was told ${what}${sent[/** @type {"due" | "done" | "given_up"} */ (delivery)] ?? ""}.`;
}

/** A process with its output. @param {{process: Process, follower: import("../core/chat.js").ChatFollower, mayEnd: boolean}} properties */
export function ProcessPart({ process, follower, mayEnd }) {
  const { id, command, workdir, status, total_bytes, exit_code } = process;
  const live = isLiveProcess(process);
  const kind = status === "exited" && exit_code !== 0 ? "failed" : status;
  const { chat } = follower;
  return html`<section class="process" aria-label=${`Process ${line(command, 80)}`}>
    <div class="process-head">
      <code class="command">$ ${wrapping(visible(command.slice(0, 2048)))}</code>
      <span class="process-facts"><${State} state=${kind} text=${statusText(process)} /><span class="by">${sizeText(total_bytes)}</span>
        ${process.background && html`<span class="tag">background</span>`}
        ${live && mayEnd && html`<button type="button" class="small danger-text" onClick=${() => endProcess({ ...process, chat })}>End…</button>`}</span>
    </div>
    <div class="by">in <${Name} text=${workdir} most=${300} /></div>
    ${follower.noticesOf(id).map((notice) => html`<p class="hint" key=${notice.id}>${noticeText(notice)}</p>`)}
    ${process.isGone && html`<p class="hint">The server no longer has this process: it went with its chat.</p>`}
    ${live && mayEnd && !process.isGone && html`<${Typing} key=${`typing-${id}`} process=${process} chat=${chat} />`}
    ${total_bytes > 0 || live ? html`<${OutputPart} key=${id} process=${process} follower=${follower} />` : html`<p class="hint">It wrote nothing.</p>`}
  </section>`;
}

/** The output of a process, which follows its end. @param {{process: Process, follower: import("../core/chat.js").ChatFollower}} properties */
function OutputPart({ process, follower }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const viewer = useRef(/** @type {Viewer | undefined} */ (undefined));
  const output = useRef(/** @type {Output | undefined} */ (undefined));
  const [following, setFollowing] = useState(true);
  const [reading, setReading] = useState(/** @type {{read: number, written: number, problem?: string, rows: number}} */ ({ read: 0, written: 0, rows: 0 }));
  const { id, command } = process;
  useLayoutEffect(() => {
    if (!place.current) return;
    const base = processAddress(follower.chat, id);
    const shown = new Viewer(place.current, `Output of ${line(command, 80)}`, setFollowing);
    let timer = 0;
    let told = 0;
    const tell = () => {
      timer = 0;
      told = performance.now();
      setReading({ read: model.read, written: model.written, problem: model.problem, rows: model.count });
    };
    const model = new Output(
      (since, max) => api(address(`${base}/output`, { since, max })),
      () => {
        shown.refresh();
        // What is said about it need not be of every frame.
        timer ||= setTimeout(tell, Math.max(0, told + 150 - performance.now()));
      },
    );
    shown.output = model;
    viewer.current = shown;
    output.current = model;
    const resume = () => model.readUpTo(Math.max(model.written, 1));
    follower.readers.set(id, (piece) => model.receive(piece));
    follower.resumers.add(resume);
    resume();
    return () => {
      follower.readers.delete(id);
      follower.resumers.delete(resume);
      clearTimeout(timer);
      model.close();
      shown.close();
    };
  }, [follower, id]);
  // The list may know of more than the events have brought.
  useEffect(() => {
    if (output.current && process.total_bytes > output.current.written) output.current.readUpTo(process.total_bytes);
  }, [process.total_bytes]);
  // As high as the output, between a few lines and most of the window; it does not shrink while it is read.
  const height = Math.min(40, Math.max(5, reading.rows));
  useEffect(() => {
    if (place.current) place.current.style.height = `min(62vh, ${height * 18 + 14}px)`;
  }, [height]);
  const behind = reading.written - reading.read;
  return html`<div class="output">
    <div class="output-place" ref=${place}></div>
    <div class="output-bar"><span role="status">${process.isGone ? (reading.rows > 0 ? `${counted(reading.rows, "line")} that the page had read` : "The server no longer has this output")
        : reading.problem ? `The output cannot be read: ${line(reading.problem)}`
        : behind > 1_000_000 ? `Reading: ${sizeText(reading.read)} of ${sizeText(reading.written)}`
        : counted(reading.rows, "line")}</span>
      ${!following && html`<button type="button" class="small" onClick=${() => viewer.current?.follow(true)}>Follow the end</button>`}</div>
  </div>`;
}

/** The reply of a call that has ended. @param {{call: Call, follower: import("../core/chat.js").ChatFollower}} properties */
function Reply({ call, follower }) {
  const [outcome, setOutcome] = useState(/** @type {any} */ (undefined));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  useEffect(() => {
    const abort = new AbortController();
    api(callAddress(call.chat, call.id), { signal: abort.signal }).then(setOutcome, (error) => abort.signal.aborted || setProblem(error));
    return () => abort.abort();
  }, [call.chat, call.id, call.state]);
  if (problem) return html`<${Failure} problem=${problem} />`;
  if (!outcome) return null;
  const survivors = (outcome.processes ?? []).map((/** @type {string} */ id) => follower.processes.get(id))
    .filter((/** @type {Process | undefined} */ process) => process && process.status !== "exited" && process.status !== "lost");
  return html`<${Outcome} outcome=${outcome} survivors=${survivors} token=${call.token} notes=${notesOf(outcome, follower)} />`;
}

/**
 * Returns what has changed since the model read that a process runs.
 * @param {any} outcome
 * @param {import("../core/chat.js").ChatFollower} follower
 * @returns {Record<string, string>}
 */
function notesOf({ structured, processes = [] }, follower) {
  if (structured?.running !== true || !follower.isLoaded) return {};
  const id = structured.background_process_id ?? structured.process_id ?? processes[0];
  const process = follower.processes.get(id);
  const isLive = process ? isLiveProcess(process) : id === undefined && [...follower.processes.values()].some(isLiveProcess);
  if (isLive) return {};
  const now = process && !process.isGone ? statusText(process) : "it has ended since";
  const note = `when the model read this; now: ${now}`;
  return structured.status === "running" ? { running: note, status: note } : { running: note };
}

/** What the model read, and what it took. @param {{outcome: any, survivors?: any[], token?: string, notes?: Record<string, string>}} properties */
export function Outcome({ outcome, survivors = [], token, notes }) {
  const { content = [], error, duration_ms, queued_ms, guest_ms, tombstone } = outcome;
  const facts = [];
  if (duration_ms !== undefined) facts.push(["Duration", durationText(duration_ms)]);
  if (queued_ms) facts.push(["Waited before", durationText(queued_ms)]);
  if (guest_ms !== undefined) facts.push(["Guest time", durationText(guest_ms)]);
  if (outcome.token ?? token) facts.push(["Called by", line(outcome.token ?? token, 60)]);
  if (survivors.length > 0) facts.push(["Still runs", survivors.map((one) => line(one.command, 80)).join("; ")]);
  return html`<section><h2 class="part">What the model read</h2>
    ${tombstone && html`<p class="hint">The call was cancelled before it arrived, and did not run.</p>`}
    ${error && html`<p class="failure"><strong>${line(error.kind, 60)}</strong> ${line(error.message, 2000)}</p>`}
    ${outcome.is_error && !error && html`<p class="note is-bad">The tool replied with an error.</p>`}
    ${content.map((/** @type {any} */ part) => html`<${Part} part=${part} notes=${notes} />`)}
    ${content.length === 0 && !error && !tombstone && html`<p class="hint">Nothing.</p>`}
    ${facts.length > 0 && html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
  </section>`;
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Returns whether an address of a reply is one that a browser may open: no script. @param {any} uri */
const isWeb = (uri) => typeof uri === "string" && /^https?:\/\//i.test(uri);

/** One part of a reply. @param {{part: any, notes?: Record<string, string>}} properties */
function Part({ part, notes }) {
  if (part.type === "text") return html`<${Block} text=${part.text ?? ""} label="Text of the reply" />`;
  if (part.type === "json") return html`<${Reading} value=${part.json} notes=${notes} />`;
  if (part.type === "image" && PICTURES.includes(part.media_type)) {
    return html`<img class="picture" alt="Picture of the reply" src=${`data:${part.media_type};base64,${part.data}`} />`;
  }
  if (part.type === "document" && !part.data && isWeb(part.uri)) {
    return html`<p class="hint"><${Link} to=${part.uri} /> ${line(part.media_type ?? "", 80)}</p>`;
  }
  const size = part.data ? sizeText(Math.floor((part.data.length * 3) / 4)) : "";
  return html`<p class="hint">${line([part.type, part.media_type, part.uri, size].filter(Boolean).join(", "), 400)}</p>`;
}

/** JSON of a reply: a long text in it, such as the output, is shown as a text. @param {{value: any, notes?: Record<string, string>}} properties */
function Reading({ value, notes }) {
  const text = JSON.stringify(value, null, 2);
  const [raw, setRaw] = useState(false);
  const hasNames = isObject(value);
  const bar = html`<div class="block-bar">${hasNames && html`<button type="button" class="small" aria-pressed=${raw} onClick=${() => setRaw(!raw)}>JSON</button>`}
    <${Copy} text=${text} label="Copy the reply" /></div>`;
  if (raw || !hasNames) return html`<div class="reading">${bar}<${Json} value=${value} label="JSON of the reply" /></div>`;
  return html`<div class="reading">${bar}<${Values} values=${value} of="the reply" notes=${notes} /></div>`;
}

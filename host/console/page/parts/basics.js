// Small parts that views share.

import { html, useEffect, useRef, useState } from "./html.js";
import { api } from "../core/api.js";
import { coarseText, counted, durationText, fullTimeText, line, timeText, visible } from "../core/text.js";

/** Are called every second. One timer is for all of them. @type {Set<(now: number) => void>} */
const watches = new Set();
setInterval(() => {
  const now = Date.now();
  for (const watch of watches) watch(now);
}, 1000);

/** Renders again every second while it is used, and returns the time. */
export function useNow() {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    watches.add(set);
    return () => watches.delete(set);
  }, []);
  return now;
}

/**
 * Loads something, again whenever a dependency changes, and keeps the last result meanwhile.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} dependencies
 */
export function useLoaded(load, dependencies) {
  const [state, set] = useState(/** @type {{value?: T, problem?: Error, loading: boolean}} */ ({ loading: true }));
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    set((before) => ({ ...before, loading: true }));
    load(abort.signal).then(
      (value) => abort.signal.aborted || set({ value, loading: false }),
      (problem) => abort.signal.aborted || set((before) => ({ ...before, problem, loading: false })),
    );
    return () => abort.abort();
  }, [...dependencies, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

/**
 * Loads a list page by page.
 * @param {(after: string | undefined) => string} address of a page
 * @param {string} key the name of the list in an answer
 * @param {unknown[]} dependencies
 */
export function usePages(address, key, dependencies) {
  const [more, setMore] = useState(/** @type {{entries: any[], next?: string}[]} */ ([]));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const [busy, setBusy] = useState(false);
  const first = useLoaded(async (signal) => {
    const page = await api(address(undefined), { signal });
    setMore([]);
    setProblem(undefined);
    return { entries: page[key], next: page.next, page };
  }, dependencies);
  const pages = first.value ? [first.value, ...more] : [];
  const next = pages[pages.length - 1]?.next;
  const loadMore = async () => {
    setBusy(true);
    try {
      const page = await api(address(next));
      setMore((before) => [...before, { entries: page[key], next: page.next }]);
      setProblem(undefined);
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    } finally {
      setBusy(false);
    }
  };
  return {
    entries: pages.flatMap((page) => page.entries),
    /** The first page, with what else is in it. */
    first: first.value?.page,
    loading: first.loading,
    problem: first.problem ?? problem,
    again: first.again,
    more: next ? html`<p class="more"><button type="button" disabled=${busy} onClick=${loadMore}>Show more</button></p>` : null,
  };
}

const STATES = {
  running: "is-running", queued: "is-queued", lingering: "is-running", finished: "is-good", exited: "is-good", active: "is-good",
  open: "is-good", ok: "is-good", failed: "is-bad", error: "is-bad", lost: "is-bad", quarantined: "is-bad", warning: "is-warning",
  unknown: "is-warning", cancelled: "is-quiet", disabled: "is-quiet", closed: "is-quiet", loading: "is-queued", removing: "is-queued",
  ready: "is-good", creating: "is-queued", starting: "is-queued", stopping: "is-queued", stopped: "is-quiet",
  start_failed: "is-warning", start_timeout: "is-warning",
};

/**
 * A state, as a dot and a word, or a text of the page's own.
 * @param {{state: string, text?: string}} properties
 */
export function State({ state, text }) {
  const kind = STATES[/** @type {keyof typeof STATES} */ (state)] ?? "is-quiet";
  return html`<span class=${`state ${kind}`}><span class="dot" aria-hidden="true"></span>${text ?? line(state, 24)}</span>`;
}

/** How long ago something was: `12 s`. @param {{at: number, offset?: number}} properties in milliseconds since 1970 */
export function Since({ at, offset = 0 }) {
  const now = useNow() + offset;
  return html`<time dateTime=${new Date(at).toISOString()} title=${fullTimeText(at)}>${coarseText(now - at)}</time>`;
}

/** A moment. @param {{at: number}} properties in milliseconds since 1970 */
export const Moment = ({ at }) => html`<time dateTime=${new Date(at).toISOString()} title=${fullTimeText(at)}>${timeText(at)}</time>`;

/** @param {{ms: number | undefined}} properties */
export const Duration = ({ ms }) => html`<span>${durationText(ms)}</span>`;

/** @param {{problem: Error | undefined, again?: () => void, what?: string}} properties */
export function Failure({ problem, again, what }) {
  if (!problem) return null;
  return html`<div class="failure" role="alert">
    <p>${what ? `${what} ` : ""}${line(problem.message, 600)}</p>
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

export const Loading = () => html`<p class="loading" role="status">Loading…</p>`;

/** @param {{title: string, children?: any}} properties */
export const Empty = ({ title, children }) => html`<div class="empty"><p class="empty-title">${title}</p>${children}</div>`;

/** Returns a text that wraps behind its separators, and within a word only where that alone is wider than its place. @param {string} text */
export const wrapping = (text) => text.split(/(?<=[-._:@/+=,])/).flatMap((part, at) => (at === 0 ? [part] : [html`<wbr />`, part]));

/** A name that others chose. @param {{text: unknown, most?: number}} properties */
export const Name = ({ text, most = 128 }) => wrapping(line(text, most));

/** How many entries of a list are shown. @param {{pages: any, one: string, many?: string}} properties */
export const Count = ({ pages, one, many }) => (pages.entries.length === 0 ? null
  : html`<p class="sum" role="status">${pages.more ? "the first " : ""}${counted(pages.entries.length, one, many)}</p>`);

/** A link to a chat or to one of its calls. @param {{chat: string, call?: string, children?: any}} properties */
export function ChatLink({ chat, call, children }) {
  const target = `#/chats/${encodeURIComponent(chat)}${call ? `/${encodeURIComponent(call)}` : ""}`;
  return html`<a class="name" href=${target}>${children ?? html`<${Name} text=${chat} />`}</a>`;
}

/** The state of the stream, where it is not as it should be. @param {{state: string, problem?: Error}} properties */
export function StreamState({ state, problem }) {
  const text = {
    connecting: "Connecting…",
    live: "Live",
    lost: `${problem ? line(problem.message, 200) : "The connection is lost."} Connecting again…`,
    refused: problem ? line(problem.message, 300) : "The server refused the connection.",
  }[state];
  const kind = state === "live" ? "is-good" : state === "connecting" ? "is-queued" : "is-bad";
  return html`<span class=${`state stream ${kind}`} role="status" data-stream=${state}>
    <span class="dot" aria-hidden="true"></span>${text}
  </span>`;
}

/** Text in a block, which scrolls if it is long. @param {{text: string, label: string}} properties */
export const Block = ({ text, label }) =>
  html`<pre class="block" tabindex="0" role="region" aria-label=${label}>${visible(text)}</pre>`;

/** JSON in a block. @param {{value: unknown, label: string}} properties */
export const Json = ({ value, label }) => html`<${Block} text=${JSON.stringify(value, null, 2)} label=${label} />`;

/** A button that copies a text. @param {{text: string, label: string}} properties */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false);
  const timer = useRef(0);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 2000);
  };
  // Browsers have a clipboard on secure pages only: on this machine, and with TLS.
  if (!navigator.clipboard) return null;
  return html`<button type="button" class="small" onClick=${copy} aria-label=${label}>${done ? "Copied" : "Copy"}</button>`;
}

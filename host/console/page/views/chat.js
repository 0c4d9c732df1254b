// One chat: a timeline of its calls, newest first, with live output.

import { html, useEffect, useReducer, useRef, useState } from "../parts/html.js";
import { Empty, Failure, Loading, StreamState } from "../parts/basics.js";
import { endChat } from "../parts/ending.js";
import { ChatFollower } from "../core/chat.js";
import { may } from "../core/session.js";
import { counted, line } from "../core/text.js";
import { CallCard, ProcessPart } from "./call.js";

/** @param {{chat: string, call?: string, session: import("../core/session.js").Session}} properties */
export function Chat({ chat, call, session }) {
  const [, render] = useReducer((/** @type {number} */ count) => count + 1, 0);
  const ref = useRef(/** @type {ChatFollower | undefined} */ (undefined));
  /** What was opened and closed by hand. */
  const [opened, setOpened] = useState(/** @type {Map<string, boolean>} */ (new Map()));
  useEffect(() => {
    ref.current = new ChatFollower(chat, () => render(undefined));
    render(undefined);
    return () => ref.current?.close();
  }, [chat]);
  const follower = ref.current;
  const calls = follower?.calls ?? [];
  // A link to a call opens it; without one, what runs is open, and else the newest.
  const firstOpen = call ?? (calls.find((one) => one.state === "running") ?? calls[0])?.id;
  const pinned = useRef(/** @type {string | undefined} */ (undefined));
  if (!call && pinned.current === undefined && firstOpen) pinned.current = firstOpen;
  const isOpen = (/** @type {import("../core/chat.js").Call} */ one) =>
    opened.get(one.id) ?? (one.id === (call ?? pinned.current) || (!call && one.state === "running"));
  const toggle = (/** @type {string} */ id, /** @type {boolean} */ open) => setOpened((before) => new Map(before).set(id, open));
  const running = calls.filter((one) => one.state === "running" || one.state === "queued");
  // A call that was open because it ran stays open when it has ended.
  useEffect(() => {
    const fresh = running.filter((one) => !opened.has(one.id));
    if (!call && fresh.length > 0) setOpened((before) => new Map([...before, ...fresh.map((one) => /** @type {[string, boolean]} */ ([one.id, true]))]));
  }, [running.map((one) => one.id).join(" ")]);
  const live = [...(follower?.processes.values() ?? [])].filter(({ status }) => status === "running" || status === "lingering");
  const others = follower?.processesOf(undefined) ?? [];
  const mayEnd = may(session, "call");
  const question = { calls: running.length, commands: live.map(({ command }) => command) };
  return html`<div class="head"><h1 class="breakable"><span class="crumb"><a href="#/chats">Chats</a> / </span>${line(chat, 128)}</h1>
      ${follower && html`<${StreamState} ...${follower.stream} />`}
      ${mayEnd && html`<button type="button" class="small danger-text" onClick=${() => endChat(chat, question)}>End chat</button>`}</div>
    <p class="sum" role="status">${running.length > 0 || live.length > 0
      ? `${counted(running.length, "call")} and ${counted(live.length, "process", "processes")} running` : "Nothing runs"}</p>
    ${follower && html`<${Search} follower=${follower} />`}
    <${Failure} problem=${follower?.problem} again=${() => follower?.load()} />
    ${follower?.ended && html`<p class="note" role="status">The chat was ended, with everything that ran in it.</p>`}
    ${follower && !follower.isLoaded && !follower.problem && html`<${Loading} />`}
    ${follower?.isLoaded && calls.length === 0 && html`<${Empty} title=${isFiltered(follower) ? "No call fits" : "No calls yet"}>
      <p>${isFiltered(follower) ? "Change the filter." : "Calls show up here as they begin."}</p></${Empty}>`}
    ${follower && html`<ol class="timeline" aria-label="Calls, newest first">
      ${calls.map((one) => html`<${CallCard} key=${one.id} call=${one} follower=${follower} open=${isOpen(one)} mayEnd=${mayEnd}
        wanted=${one.id === call} toggle=${(/** @type {boolean} */ open) => toggle(one.id, open)} />`)}
    </ol>`}
    ${follower?.next && html`<p class="more"><button type="button" onClick=${() => follower.more()}>Show older calls</button></p>`}
    ${others.length > 0 && follower && html`<section aria-labelledby="others"><h2 id="others">Processes that no call started</h2>
      ${others.map((process) => html`<${ProcessPart} key=${process.id} process=${process} follower=${follower} mayEnd=${mayEnd} />`)}</section>`}`;
}

/** @param {ChatFollower} follower */
const isFiltered = (follower) => Object.values(follower.filter).some(Boolean);

/** @param {{follower: ChatFollower}} properties */
function Search({ follower }) {
  const [filter, setFilter] = useState(/** @type {import("../core/chat.js").Filter} */ ({}));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    const changed = { ...filter, [name]: event.target.value };
    setFilter(changed);
    if (name !== "text") follower.search(changed);
  };
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    follower.search(filter);
  };
  return html`<form class="filters" role="search" aria-label="Calls of this chat" onSubmit=${send}>
    <label class="grows"><span>Text of a reply</span><input type="search" maxlength="256" value=${filter.text ?? ""} onInput=${set("text")} /></label>
    <label><span>State</span><select onChange=${set("state")}><option value="">any</option>
      ${["running", "finished", "failed", "cancelled", "unknown"].map((state) => html`<option value=${state}>${state}</option>`)}</select></label>
    <label><span>Success</span><select onChange=${set("success")}><option value="">any</option><option value="true">yes</option>
      <option value="false">no</option></select></label>
    <button type="submit">Search</button>
  </form>`;
}

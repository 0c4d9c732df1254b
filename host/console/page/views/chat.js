// One chat: a timeline of its calls, newest first, with live output.

import { html, useEffect, useReducer, useRef, useState } from "../parts/html.js";
import { Empty, Failure, Loading, Moment, Name, StreamState } from "../parts/basics.js";
import { endChat } from "../parts/ending.js";
import { useQuery } from "../parts/query.js";
import { ChatFollower, isLiveProcess } from "../core/chat.js";
import { may } from "../core/session.js";
import { counted, line } from "../core/text.js";
import { CallCard, ProcessPart } from "./call.js";

const STATES = ["", "running", "finished", "failed", "cancelled", "unknown"];

/** What the address may say of the calls to show. */
const FIELDS = { text: "", state: STATES, success: ["", "true", "false"] };

/** @param {{chat: string, call?: string, session: import("../core/session.js").Session}} properties */
export function Chat({ chat, call, session }) {
  const [, render] = useReducer((/** @type {number} */ count) => count + 1, 0);
  const ref = useRef(/** @type {ChatFollower | undefined} */ (undefined));
  /** What was opened and closed by hand. */
  const [opened, setOpened] = useState(/** @type {Map<string, boolean>} */ (new Map()));
  const [filter, change] = useQuery(FIELDS);
  useEffect(() => {
    ref.current = new ChatFollower(chat, filter, may(session, "admin"), () => render(undefined));
    render(undefined);
    return () => ref.current?.close();
  }, [chat]);
  useEffect(() => {
    if (ref.current && ref.current.filter !== filter) ref.current.search(filter);
  }, [filter]);
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
  const live = [...(follower?.processes.values() ?? [])].filter(isLiveProcess);
  const others = follower?.processesOf(undefined) ?? [];
  const mayEnd = may(session, "call");
  const question = { calls: running.length, commands: live.map(({ command }) => command) };
  // A chat that never was has nothing to end; its first call shows up all the same.
  const isThere = follower?.isKnown !== false;
  const isOver = follower?.endedAt !== undefined && running.length === 0 && live.length === 0;
  return html`<div class="head"><h1><span class="crumb"><a href="#/chats">Chats</a> / </span><${Name} text=${chat} /></h1>
      ${follower && (isThere || follower.stream.state !== "live") && html`<${StreamState} ...${follower.stream} />`}
      ${mayEnd && isThere && !isOver && html`<button type="button" class="small danger-text" onClick=${() => endChat(chat, question)}>End chat</button>`}</div>
    ${isThere && html`<p class="sum" role="status">${running.length > 0 || live.length > 0
      ? `${counted(running.length, "call")} and ${counted(live.length, "process", "processes")} running` : "Nothing runs"}${
      follower?.isLoaded && `. ${countsText(follower, calls.length)}.`}</p>`}
    ${follower && isThere && html`<${Search} filter=${filter} change=${change} />`}
    <${Failure} problem=${follower?.problem} again=${() => follower?.load()} />
    ${isOver && html`<p class="note" role="status">The chat was ended at <${Moment} at=${follower?.endedAt} />, with everything that ran in it. The replies of
      its calls stay. The server keeps no command and no output of a chat that was ended: the page has those that it had shown before.</p>`}
    ${follower && !follower.isLoaded && !follower.problem && html`<${Loading} />`}
    ${follower?.isLoaded && calls.length === 0 && html`<${Nothing} isThere=${isThere} isFiltered=${isFiltered(follower)} />`}
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

/** Says how many calls are shown, and how many processes the chat had. @param {ChatFollower} follower @param {number} calls */
function countsText({ next, processes, filter }, calls) {
  const isPart = next !== undefined || Object.values(filter).some(Boolean);
  const known = counted(processes.size, "process", "processes");
  return isPart ? `Shown are ${counted(calls, "call")}${next ? ", and there are more" : ""}; ${known} in all` : `${counted(calls, "call")} and ${known} in all`;
}

/** @param {{isThere: boolean, isFiltered: boolean}} properties */
function Nothing({ isThere, isFiltered: isPart }) {
  if (!isThere) {
    return html`<${Empty} title="There is no such chat"><p>No call of a chat of this name is remembered, and nothing runs in it.
      If one begins, it shows up here. <a href="#/chats">Chats</a> has those that there are.</p></${Empty}>`;
  }
  return html`<${Empty} title=${isPart ? "No call fits" : "No calls"}>
    <p>${isPart ? "Change the filter." : "None is remembered. Calls show up here as they begin."}</p></${Empty}>`;
}

/** @param {{filter: Record<string, string>, change: (changes: Record<string, string>) => void}} properties */
function Search({ filter, change }) {
  const [draft, setDraft] = useState(filter);
  useEffect(() => setDraft(filter), [filter]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    const changed = { ...draft, [name]: event.target.value };
    setDraft(changed);
    if (name !== "text") change(changed);
  };
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    change(draft);
  };
  return html`<form class="filters" role="search" aria-label="Calls of this chat" onSubmit=${send}>
    <label class="grows"><span>Text of a reply</span><input type="search" maxlength="256" value=${draft.text} onInput=${set("text")} /></label>
    <label><span>State</span><select value=${draft.state} onChange=${set("state")}>
      ${STATES.map((state) => html`<option value=${state}>${state || "any"}</option>`)}</select></label>
    <label><span>Success</span><select value=${draft.success} onChange=${set("success")}><option value="">any</option><option value="true">yes</option>
      <option value="false">no</option></select></label>
    <button type="submit">Search</button>
  </form>`;
}

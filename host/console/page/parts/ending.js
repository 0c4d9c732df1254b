// Ending things: the questions, which say what will be ended, and the requests.

import { html } from "./html.js";
import { ask } from "./dialog.js";
import { api, callAddress, chatAddress, processAddress } from "../core/api.js";
import { counted, line } from "../core/text.js";

const SIGNALS = [
  { value: "terminate", label: "Terminate", hint: "SIGTERM, and SIGKILL after 5 s for what is left" },
  { value: "interrupt", label: "Interrupt", hint: "SIGINT, as Ctrl-C sends it" },
  { value: "kill", label: "Kill", hint: "SIGKILL, at once" },
  { value: "hangup", label: "Hang up", hint: "SIGHUP, which many servers take as: read your settings again" },
  { value: "quit", label: "Quit", hint: "SIGQUIT" },
];

/**
 * Asks whether to end a process.
 * @param {{chat: string, id: string, command: string, usage?: {processes?: number}}} process
 */
export function endProcess({ chat, id, command, usage }) {
  const started = (usage?.processes ?? 1) - 1;
  ask({
    title: "End this process?",
    text: html`<p><code>${line(command, 300)}</code></p>
      <p>The signal reaches the shell of this command and everything that it started${
        started > 0 ? `: ${counted(started, "other process", "other processes")} now` : ""}. It runs in the chat ${line(chat, 128)}.</p>`,
    action: "Send the signal",
    choices: SIGNALS,
    then: (signal) => api(`${processAddress(chat, id)}/signal`, { method: "POST", body: { signal } }),
  });
}

/**
 * Asks whether to cancel a call.
 * @param {{chat: string, id: string, tool: string, processes?: string[]}} call with the commands that it waits for
 */
export function cancelCall({ chat, id, tool, processes = [] }) {
  ask({
    title: "Cancel this call?",
    text: html`<p>The call <code>${line(id, 80)}</code> of <code>${line(tool, 80)}</code> ends, and the model reads that it was cancelled.</p>
      ${processes.length > 0 && html`<p>These commands end with it, if the call waits for them:</p>
        <ul>${processes.slice(0, 8).map((command) => html`<li><code>${line(command, 160)}</code></li>`)}</ul>`}
      <p>Commands that it left in the background go on.</p>`,
    action: "Cancel the call",
    then: () => api(callAddress(chat, id), { method: "DELETE" }),
  });
}

/**
 * Asks whether to end a chat.
 * @param {string} chat
 * @param {{calls: number, commands: string[]}} running
 */
export function endChat(chat, { calls, commands }) {
  ask({
    title: "End this chat?",
    text: html`<p>The chat <code>${line(chat, 128)}</code> ends with
        ${` ${counted(calls, "running call")} and ${counted(commands.length, "process", "processes")}`}, in the background too.</p>
      ${commands.length > 0 && html`<ul>${commands.slice(0, 8).map((command) => html`<li><code>${line(command, 160)}</code></li>`)}
        ${commands.length > 8 && html`<li>and ${commands.length - 8} more</li>`}</ul>`}
      <p>What already ran stays in the list.</p>`,
    action: "End the chat",
    then: () => api(chatAddress(chat), { method: "DELETE" }),
  });
}

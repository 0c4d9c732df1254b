// The question before something is ended. There is one dialog, which the page has from its beginning.

import { html, useEffect, useRef, useState } from "./html.js";

/**
 * @typedef {{title: string, text: any, action: string, keep?: string, choices?: {value: string, label: string, hint: string}[],
 *   then: (choice: string) => Promise<unknown>}} Question
 */

/** @type {(question: Question) => void} */
let show = () => {};

/** Asks once, and does what the question names if it is answered with yes. @param {Question} question */
export const ask = (question) => show(question);

export function Dialog() {
  const [question, setQuestion] = useState(/** @type {Question | undefined} */ (undefined));
  const [choice, setChoice] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    show = (next) => {
      setQuestion(next);
      setChoice(next.choices?.[0].value ?? "");
      setProblem("");
    };
  }, []);
  useEffect(() => {
    if (question && !dialog.current?.open) dialog.current?.showModal();
    if (!question && dialog.current?.open) dialog.current.close();
  }, [question]);
  const close = () => {
    if (!busy) setQuestion(undefined);
  };
  const confirm = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await question?.then(choice);
      setQuestion(undefined);
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    } finally {
      setBusy(false);
    }
  };
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  };
  return html`<dialog ref=${dialog} aria-labelledby="question" onCancel=${cancel}>
    ${question && html`<form onSubmit=${confirm}>
      <h2 id="question">${question.title}</h2>
      <div class="question">${question.text}</div>
      ${question.choices && html`<fieldset>
        <legend>Signal</legend>
        ${question.choices.map(({ value, label, hint }) => html`<label class="choice" key=${value}>
          <input type="radio" name="choice" value=${value} checked=${choice === value} onChange=${() => setChoice(value)} />
          <span>${label}<small>${hint}</small></span>
        </label>`)}
      </fieldset>`}
      ${problem && html`<p class="failure" role="alert">${problem}</p>`}
      <div class="actions">
        <button type="button" disabled=${busy} onClick=${close} autofocus>${question.keep ?? "Keep it running"}</button>
        <button type="submit" class="danger" disabled=${busy}>${busy ? "Ending…" : question.action}</button>
      </div>
    </form>`}
  </dialog>`;
}

// Signing in with a token, which the server exchanges for a cookie.

import { html, useEffect, useState } from "../parts/html.js";
import { Failure } from "../parts/basics.js";
import { login } from "../core/session.js";

/** @param {{then: () => void}} properties */
export function Login({ then }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  useEffect(() => {
    document.title = "Sign in · Toolhost";
    if (location.hash === "#login-failed") {
      setProblem(new Error("The link has been used or is of an earlier start. Sign in with a token, or get a new link: run toolhost console on the machine of the server."));
      history.replaceState(null, "", "#/now");
    }
  }, []);
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await login(token.trim());
      setToken("");
      then();
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    } finally {
      setBusy(false);
    }
  };
  return html`<main class="alone">
    <form class="login" onSubmit=${send}>
      <h1><span class="logo" aria-hidden="true">›_</span>Toolhost</h1>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="current-password" spellcheck=${false} required autofocus value=${token}
        aria-describedby="token-hint" onInput=${(/** @type {any} */ event) => setToken(event.target.value)} />
      <p id="token-hint" class="hint">A token of the configuration, or the one that the server was started with. The page sends it once,
        and then uses a cookie with the same rights.</p>
      <${Failure} problem=${problem} />
      <button type="submit" class="primary" disabled=${busy || token.trim() === ""}>${busy ? "Signing in…" : "Sign in"}</button>
    </form>
  </main>`;
}

// The page: its frame, the session, and the way from an address to a view.

import { html, render, useEffect, useRef, useState } from "./parts/html.js";
import { Dialog } from "./parts/dialog.js";
import { Failure, Loading } from "./parts/basics.js";
import { onSessionEnd } from "./core/api.js";
import { loadSession, logout, VIEWS } from "./core/session.js";
import { line } from "./core/text.js";
import { Login } from "./views/login.js";
import { Now } from "./views/now.js";
import { Chats } from "./views/chats.js";
import { Chat } from "./views/chat.js";
import { Tools } from "./views/tools.js";
import { Plugins } from "./views/plugins.js";
import { Workspaces } from "./views/workspaces.js";
import { Audit } from "./views/audit.js";
import { Health } from "./views/health.js";

const COMPONENTS = { now: Now, chats: Chats, tools: Tools, plugins: Plugins, workspaces: Workspaces, audit: Audit, health: Health };

/** Returns the parts of the address after `#/`. */
function addressParts() {
  const parts = location.hash.replace(/^#\/?/, "").split("?")[0].split("/");
  return parts.filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

function useAddress() {
  const [parts, set] = useState(addressParts);
  useEffect(() => {
    const changed = () => set(addressParts());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parts;
}

/** @param {{session: import("./core/session.js").Session, left: () => void}} properties */
function Frame({ session, left }) {
  const parts = useAddress();
  const views = VIEWS.filter((view) => view.allowed(session));
  const view = views.find(({ path }) => path === (parts[0] ?? "now"));
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const first = useRef(true);
  const title = parts[0] === "chats" && parts[1] ? parts[1] : (view?.title ?? "Not found");
  useEffect(() => {
    document.title = `${line(title, 60)} · Toolhost`;
    document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
    // The reader of a screen hears where it is now; the first view is read anyway.
    if (!first.current) main.current?.focus({ preventScroll: true });
    if (!first.current) window.scrollTo(0, 0);
    first.current = false;
  }, [parts[0], parts[0] === "chats" ? parts[1] : ""]);
  const signOut = async () => {
    try {
      await logout();
      left();
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    }
  };
  const skip = (/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/now"><span class="logo" aria-hidden="true">›_</span>Toolhost</a>
      <nav aria-label="Views"><ul>${views.map(({ path, title: name }) => html`<li key=${path}>
        <a href=${`#/${path}`} aria-current=${view?.path === path ? "page" : undefined}>${name}</a></li>`)}</ul></nav>
      <div class="who"><span title=${boundsText(session)}>${line(session.name, 40)}</span>
        <button type="button" class="small" onClick=${signOut}>Sign out</button></div>
    </header>
    <main id="main" ref=${main} tabindex="-1">
      <${Failure} problem=${problem} />
      ${view ? viewOf(view.path, parts, session) : html`<h1>Not found</h1>
        <p>There is no such view, or this token does not allow it. <a href="#/now">Go to Now</a>.</p>`}
    </main>
    <${Dialog} />`;
}

/** @param {string} path @param {string[]} parts @param {import("./core/session.js").Session} session */
function viewOf(path, parts, session) {
  if (path === "chats" && parts[1]) return html`<${Chat} key=${parts[1]} chat=${parts[1]} call=${parts[2]} session=${session} />`;
  const Found = COMPONENTS[/** @type {keyof typeof COMPONENTS} */ (path)];
  return html`<${Found} session=${session} rest=${parts.slice(1)} />`;
}

/** Says what a token is for. @param {import("./core/session.js").Session} session */
function boundsText({ scopes, chats, tools, workspaces }) {
  const bounds = [`Scopes: ${scopes.join(", ")}`];
  if (chats != null) bounds.push(`chats that begin with ${chats}`);
  if (tools != null) bounds.push(`tools ${tools.join(", ")}`);
  if (workspaces != null) bounds.push(`workspaces ${workspaces.join(", ")}`);
  return line(bounds.join("; "), 500);
}

function Page() {
  const [session, setSession] = useState(/** @type {import("./core/session.js").Session | null | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const load = async () => {
    setProblem(undefined);
    try {
      setSession(await loadSession());
    } catch (error) {
      setProblem(/** @type {Error} */ (error));
    }
  };
  useEffect(() => {
    onSessionEnd(() => setSession(null));
    load();
  }, []);
  if (problem) return html`<main class="alone"><h1>Toolhost</h1><${Failure} problem=${problem} again=${load} /></main>`;
  if (session === undefined) return html`<main class="alone"><${Loading} /></main>`;
  if (session === null) return html`<${Login} then=${load} />`;
  return html`<${Frame} session=${session} left=${() => setSession(null)} />`;
}

const place = document.getElementById("page");
if (place) render(html`<${Page} />`, place);

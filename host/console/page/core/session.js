// The session: who the page acts as, and which views that allows.

import { api } from "./api.js";

/**
 * @typedef {{name: string, scopes: string[], chats?: string | null, tools?: string[] | null, workspaces?: string[] | null,
 *   expires_at_unix_ms?: number}} Session
 */

/** Returns the session, or `null` if there is none. @returns {Promise<Session | null>} */
export async function loadSession() {
  try {
    return await api("/console/session");
  } catch (error) {
    if (/** @type {any} */ (error).status === 401) return null;
    throw error;
  }
}

/** @param {string} token */
export const login = (token) => api("/console/login", { method: "POST", body: { token } });
export const logout = () => api("/console/logout", { method: "POST" });

/** Returns whether the session has a scope; `call` includes `read`. @param {Session} session @param {string} scope */
export const may = ({ scopes }, scope) => scopes.includes(scope) || (scope === "read" && scopes.includes("call"));

/** @param {Session} session */
const isUnbounded = ({ chats, tools, workspaces }) => chats == null && tools == null && workspaces == null;

/** The views, with the condition under which the server answers their requests. */
export const VIEWS = [
  { path: "now", title: "Now", allowed: (/** @type {Session} */ session) => may(session, "read") },
  { path: "chats", title: "Chats", allowed: (/** @type {Session} */ session) => may(session, "read") },
  { path: "tools", title: "Tools", allowed: (/** @type {Session} */ session) => may(session, "read") },
  { path: "plugins", title: "Plugins", allowed: (/** @type {Session} */ session) => may(session, "admin") && isUnbounded(session) },
  { path: "workspaces", title: "Workspaces", allowed: (/** @type {Session} */ session) => may(session, "read") },
  { path: "audit", title: "Audit", allowed: (/** @type {Session} */ session) => may(session, "admin") },
  { path: "health", title: "Health", allowed: (/** @type {Session} */ session) => may(session, "admin") },
];

/** The chat in which this page calls tools: one for each tab. @param {Session} session */
export function ownChat({ chats, name }) {
  const prefix = chats ?? "";
  let id = sessionStorage.getItem("chat");
  if (!id?.startsWith(prefix)) {
    const random = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const by = name.replace(/[^A-Za-z0-9_.-]/g, "").slice(0, 32);
    id = `${prefix}console-${by ? `${by}-` : ""}${random}`.slice(0, 128);
    sessionStorage.setItem("chat", id);
  }
  return id;
}

/** Returns a new id for a call. */
export const newCallId = () => `console-${Date.now().toString(36)}${Math.floor(Math.random() * 46656).toString(36).padStart(3, "0")}`;

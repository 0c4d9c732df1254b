// Requests to the server.

/** A request that the server refused, or that did not reach it. */
export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} code
   * @param {string} detail
   */
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** @type {() => void} */
let ended = () => {};

/** Sets the function that is called when the session is over. @param {() => void} then */
export const onSessionEnd = (then) => {
  ended = then;
};

/** Says that the session is over. */
export const sessionEnded = () => ended();

/** Reads the problem of an answer. @param {Response} response */
export async function problemOf(response) {
  const text = await response.text().catch(() => "");
  try {
    const { code, detail, title } = JSON.parse(text);
    return new Problem(response.status, String(code ?? ""), String(detail ?? title ?? response.statusText));
  } catch {
    return new Problem(response.status, "", `The server answered ${response.status} ${response.statusText}`.trim());
  }
}

/**
 * Sends a request, and returns the answer unless it is a problem.
 * @param {string} path
 * @param {{method?: string, body?: unknown, signal?: AbortSignal, headers?: Record<string, string>}} [options]
 */
export async function request(path, { method = "GET", body, signal, headers = {} } = {}) {
  const all = { ...headers };
  // Other pages cannot send this header: so the server knows that a request with the cookie comes from this one.
  if (method !== "GET") all["toolhost-console"] = "1";
  if (body !== undefined) all["content-type"] = "application/json";
  /** @type {RequestInit} */
  const init = { method, headers: all, signal, credentials: "same-origin", redirect: "error" };
  if (body !== undefined) init.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The server cannot be reached.");
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401 && path !== "/console/login") ended();
  throw problem;
}

/**
 * Sends a request, and returns the JSON of the answer, or `null` if it has no body.
 * @param {string} path
 * @param {Parameters<typeof request>[1]} [options]
 * @returns {Promise<any>}
 */
export async function api(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

/**
 * Returns an address with parameters; those that are empty are left out.
 * @param {string} path
 * @param {Record<string, unknown>} parameters
 */
export function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The address of a chat. @param {string} chat */
export const chatAddress = (chat) => `/v1/chats/${encodeURIComponent(chat)}`;
/** The address of a call. @param {string} chat @param {string} call */
export const callAddress = (chat, call) => `${chatAddress(chat)}/calls/${encodeURIComponent(call)}`;
/** The address of a process. @param {string} chat @param {string} process */
export const processAddress = (chat, process) => `${chatAddress(chat)}/processes/${encodeURIComponent(process)}`;

// Responses to HTTP requests, all of them scripted.

import { HostError } from "../lib/errors.js";

/** Stands in for the network. `requests` has what was sent; a URL without a response is not granted. */
export class FakeHttp {
  #responses = new Map();

  constructor() {
    this.requests = [];
  }

  /** Lets requests to this URL get this response. `json` is a value to respond with instead of `body`. */
  responds(url, { method = "GET", status = 200, headers = {}, body = "", json } = {}) {
    const text = json === undefined ? body : JSON.stringify(json);
    const data = typeof text === "string" ? new TextEncoder().encode(text) : text;
    this.#responses.set(`${method} ${url}`, { status, headers, body: data });
    return this;
  }

  /** Makes this URL unreachable. */
  fails(url, { method = "GET", text = "the request failed: connection-refused" } = {}) {
    this.#responses.set(`${method} ${url}`, new HostError("unavailable", text));
    return this;
  }

  send({ url, ...rest }) {
    const request = { ...rest, url: url.href };
    this.requests.push(request);
    const found = this.#responses.get(`${request.method} ${request.url}`);
    if (found === undefined) throw new HostError("denied", "the plugin was not granted requests to this destination");
    if (found instanceof HostError) throw found;
    return found;
  }
}

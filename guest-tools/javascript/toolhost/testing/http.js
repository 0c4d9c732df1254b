// Responses to HTTP requests, all of them scripted.

import { Missing } from "../host/native.js";
import { HostError } from "../lib/errors.js";
import { partsOf } from "../lib/url.js";

/**
 * Stands in for the network. `requests` has what was sent. A URL without any response is not granted. A request with another method than
 * the responses of its URL is a mistake of the test, which ends it.
 */
export class FakeHttp {
  /** By place and method. The last of several responses stays. */
  #responses = new Map();
  #isComplete = false;

  constructor() {
    this.requests = [];
    this.unanswered = [];
  }

  /** Makes the network of a case: a request without an answer ends the test. */
  static ofCase(exchanges) {
    const http = new FakeHttp();
    http.#isComplete = true;
    for (const { request, answer = {} } of exchanges) http.#at(request.url, request.method).push(responseOf(answer));
    return http;
  }

  /** Lets requests to this URL get this response. `json` is a value to respond with instead of `body`. */
  responds(url, { method, ...response } = {}) {
    this.#at(url, method).splice(0, Infinity, responseOf(response));
    return this;
  }

  /** Makes this URL unreachable. */
  fails(url, { method, text = "the request failed: connection-refused" } = {}) {
    this.#at(url, method).splice(0, Infinity, new HostError("unavailable", text));
    return this;
  }

  send({ url, ...rest }) {
    const request = { ...rest, url: url.href };
    this.requests.push(request);
    const found = this.#responses.get(placeOf(url))?.get(request.method);
    if (found === undefined) throw this.#refusal(request);
    const response = found.length > 1 ? found.shift() : found[0];
    if (response instanceof HostError) throw response;
    return response;
  }

  /** Returns the responses to a URL and a method, which it makes if there are none. */
  #at(url, method = "GET") {
    const place = placeOf(partsOf(url));
    if (!this.#responses.has(place)) this.#responses.set(place, new Map());
    const methods = this.#responses.get(place);
    if (!methods.has(method.toUpperCase())) methods.set(method.toUpperCase(), []);
    return methods.get(method.toUpperCase());
  }

  /** Returns the error of a request without a response, which says what there is. */
  #refusal({ method, url }) {
    const methods = [...(this.#responses.get(placeOf(partsOf(url)))?.keys() ?? [])];
    const all = [...this.#responses].flatMap(([place, known]) => [...known.keys()].map((one) => `${one} ${place}`));
    const known = methods.length > 0 ? methods : all;
    const thereIs = known.length > 0 ? `there is one for ${known.join(" and ")}` : "there are no answers";
    const text = `no answer for ${method} ${url}; ${thereIs}`;
    if (methods.length === 0 && !this.#isComplete) {
      return new HostError("denied", `the plugin was not granted requests to this destination: ${text}`);
    }
    this.unanswered.push(text);
    return new Missing(text);
  }
}

const placeOf = ({ scheme, authority, path }) => `${scheme}://${authority.toLowerCase()}${path}`;

function responseOf({ status = 200, headers = {}, body = "", json }) {
  const text = json === undefined ? body : JSON.stringify(json);
  const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { status, headers: Object.fromEntries(names), body: typeof text === "string" ? new TextEncoder().encode(text) : text };
}

// HTTP requests to the destinations that the operator grants. The plugin needs the grant `http` and the engine StarlingMonkey.

import * as port from "#host/http";
import { partsOf } from "./lib/url.js";

/**
 * Sends a request, and returns a promise of the whole response, whatever its status is. Redirects are not followed. `json` is a value
 * to send as JSON instead of `body`. `timeout` is in seconds, and bounds the connection, the time to the first byte, and the time
 * between bytes. Throws `HostError` if the destination is not granted or cannot be reached.
 */
export async function request(method, url, { headers = {}, body, json, timeout } = {}) {
  const parts = partsOf(url);
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (json !== undefined) {
    body = JSON.stringify(json);
    sent["content-type"] ??= "application/json";
  }
  const data = typeof body === "string" ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
  if (data.length > 0) sent["content-length"] ??= String(data.length);
  const response = await port.send({ method: method.toUpperCase(), url: parts, headers: sent, body: data, timeout });
  return {
    ...response,
    get text() {
      return new TextDecoder().decode(response.body);
    },
    json: () => JSON.parse(new TextDecoder().decode(response.body)),
  };
}

/** Sends a GET request. */
export const get = (url, options) => request("GET", url, options);

/** Sends a POST request. */
export const post = (url, options) => request("POST", url, options);

// Webhooks of Toolhost: the signature of Standard Webhooks.

import { createHmac, timingSafeEqual } from "node:crypto";

import type { Notice } from "./types.js";

/** The body of a webhook. */
export interface Webhook {
  /** `process.` and the event of the notice, such as `process.exited`. */
  type: string;
  timestamp: string;
  data: Notice & { chat: string };
}

/** The headers of a request, in lower case. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** The greatest difference of the clocks, in seconds. */
const TOLERANCE = 300;

/** The webhook has no valid signature, or is too old. Answer with 401. */
export class InvalidSignature extends Error {
  override readonly name = "InvalidSignature";
}

/**
 * Returns a webhook whose signature is valid, or throws `InvalidSignature`. `body` is the body as it arrived. A notice
 * can come more than once: compare its `data.id`.
 */
export function verify(secret: string, headers: WebhookHeaders, body: string | Uint8Array, now = Date.now()): Webhook {
  const header = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const timestamp = header("webhook-timestamp");
  if (!/^\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE) {
    throw new InvalidSignature("the timestamp of the webhook is missing, or differs by more than five minutes");
  }
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);
  const hmac = createHmac("sha256", key)
    .update(`${header("webhook-id")}.${timestamp}.`)
    .update(body)
    .digest();
  const isValid = (signature: string) => {
    const [version, value] = signature.split(",");
    const given = Buffer.from(value ?? "", "base64");
    return version === "v1" && given.length === hmac.length && timingSafeEqual(given, hmac);
  };
  if (!header("webhook-signature").split(" ").some(isValid)) {
    throw new InvalidSignature("the signature of the webhook is not valid; is the secret that of the server?");
  }
  return JSON.parse(Buffer.from(body as Uint8Array).toString());
}

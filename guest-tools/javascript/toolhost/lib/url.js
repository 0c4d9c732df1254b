// URLs of requests. QuickJS has no class URL.

import { HostError } from "./errors.js";

/** Returns scheme, authority, path with query, and the whole of a URL. */
export function partsOf(url) {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#]+)([^#]*)/i.exec(url) ?? [];
  if (authority === undefined) {
    throw new HostError("invalid", `"${url}" is not an absolute URL that begins with http:// or https://`);
  }
  return { scheme: scheme.toLowerCase(), authority, path: rest.startsWith("/") ? rest : `/${rest}`, href: url };
}

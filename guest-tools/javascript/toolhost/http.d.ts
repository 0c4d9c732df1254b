// Types of `toolhost/http`, for the engine StarlingMonkey.

export interface Options {
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** A value to send as JSON instead of `body`. */
  json?: unknown;
  /** In seconds: bounds the connection, the time to the first byte, and the time between bytes. */
  timeout?: number;
}

export interface Response {
  status: number;
  /** The names are in lower case. */
  headers: Record<string, string>;
  body: Uint8Array;
  /** The body as text, with U+FFFD for what is not UTF-8. */
  readonly text: string;
  json(): any;
}

/** Sends a request, and returns the whole response, whatever its status is. Redirects are not followed. Throws `HostError`. */
export declare function request(method: string, url: string, options?: Options): Promise<Response>;
export declare function get(url: string, options?: Options): Promise<Response>;
export declare function post(url: string, options?: Options): Promise<Response>;

// The globals that the package adds to QuickJS: `"types": ["toolhost/quickjs"]` in tsconfig.json. The engine has no others of the web.

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  readonly encoding: string;
  constructor(label?: string, options?: { fatal?: boolean });
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

/** Writes to the operator's log. */
declare const console: {
  debug(...values: unknown[]): void;
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  trace(...values: unknown[]): void;
};

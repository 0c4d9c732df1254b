// Types of the package `toolhost`.

/** A type of values, as JSON Schema and as TypeScript. */
export interface Type<T, O extends boolean = false> {
  readonly schema: JsonSchema;
  readonly isOptional: O;
  /** Only for the types: no such value exists. */
  readonly __type?: T;
  /** Lets the property be left out. */
  optional(): Type<T | undefined, true>;
  /** Lets the property be left out, and gives it a value then. */
  default(value: T): Type<T, false>;
  /** Lets the value be null, too. */
  nullable(): Type<T | null, O>;
  /** Says what the value is, for the model. */
  describe(description: string): Type<T, O>;
}

/** A JSON Schema (2020-12). */
export type JsonSchema = { [keyword: string]: unknown };

/** The properties of an object. */
export type Shape = { [name: string]: Type<any, boolean> };

/** The values of a type, or of the object with these properties. */
export type Infer<S> = S extends Type<infer T, boolean>
  ? T
  : S extends Shape
    ? Simple<
        { [K in keyof S as S[K] extends Type<any, true> ? never : K]: Infer<S[K]> } & {
          [K in keyof S as S[K] extends Type<any, true> ? K : never]?: Infer<S[K]>;
        }
      >
    : unknown;

type Simple<T> = { [K in keyof T]: T[K] };

type Keywords<K extends string> = { readonly [key in K]?: unknown } & JsonSchema;
type OfNumber = Keywords<"minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf">;

/** Makes types. A description comes last, or second to last before further keywords of JSON Schema such as `minimum`. */
export declare const t: {
  string(description?: string, keywords?: Keywords<"minLength" | "maxLength" | "pattern" | "format">): Type<string>;
  number(description?: string, keywords?: OfNumber): Type<number>;
  integer(description?: string, keywords?: OfNumber): Type<number>;
  boolean(description?: string, keywords?: JsonSchema): Type<boolean>;
  any(description?: string): Type<any>;
  enum<const V extends readonly (string | number | boolean)[]>(values: V, description?: string): Type<V[number]>;
  literal<const V extends string | number | boolean | null>(value: V, description?: string): Type<V>;
  array<T>(
    item: Type<T, boolean>,
    description?: string,
    keywords?: Keywords<"minItems" | "maxItems" | "uniqueItems">,
  ): Type<T[]>;
  record<T>(item: Type<T, boolean>, description?: string): Type<Record<string, T>>;
  object<S extends Shape>(shape: S, description?: string): Type<Infer<S>>;
  union<T extends readonly Type<any, boolean>[]>(...types: T): Type<Infer<T[number]>>;
  /** Makes a type of a JSON Schema: `t.schema<Point>({ … })`. */
  schema<T>(schema: JsonSchema): Type<T>;
};

/** What a tool is, besides its input, its output and its function. */
export interface Description<A> {
  /** `[a-z][a-z0-9]*(_[a-z0-9]+)*`, at most 31 bytes. */
  name: string;
  /** What the tool does and when to use it, written for the model. */
  description: string;
  /** A name for people, in lists. */
  title?: string;
  /** The tool changes nothing outside of itself. */
  readOnly?: boolean;
  /** The tool may change things, but it never destroys any. A read-only tool has this promise, too. */
  nonDestructive?: boolean;
  /** Calling the tool again with the same arguments changes nothing more. */
  idempotent?: boolean;
  /** The tool touches only a known, closed set of things, not the world at large. */
  closedWorld?: boolean;
  /** The longest that one call may take, in seconds. The operator's limit wins. */
  maxDuration?: number;
  /** Calls that show the tool at work. */
  examples?: readonly { name?: string; arguments: A; isError?: boolean }[];
  /** Documents that a read-only tool with an argument `uri` returns. */
  resources?: readonly {
    uri: string;
    name: string;
    title?: string;
    description?: string;
    media_type?: string;
  }[];
}

/** What `run` returns: a text, a JSON value, or a reply of several parts. */
export type Result<R> = R | Reply | Promise<R | Reply>;

/** A tool. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /** Runs a call with the text of a JSON object. */
  call(text: string): Reply | Promise<Reply>;
}

/** Defines a tool with the types of its arguments, and of its reply if it has `output`. */
export declare function tool<S extends Shape = {}, O extends Shape | Type<any, boolean> | undefined = undefined>(
  options: Description<Input<S>> & {
    input?: S;
    output?: O;
    run(args: Infer<S>): Result<O extends undefined ? unknown : Infer<O>>;
  },
): Tool;

/** Defines a tool with a JSON Schema as it is: `tool<{ text: string }>({ input: { type: "object", … }, … })`. */
export declare function tool<A>(
  options: Description<unknown> & { input: JsonSchema & { type: "object" }; output?: JsonSchema; run(args: A): Result<unknown> },
): Tool;

/** The arguments that a caller writes: a property with a default may be left out. */
export type Input<S extends Shape> = { [K in keyof S]?: unknown };

/** A reply of several parts, or one that reports a failure. */
export declare class Reply {
  readonly isError: boolean;
  constructor(text?: string);
  /** Makes a reply that reports a failure which the model should read. */
  static error(text: string): Reply;
  /** Marks the reply as the report of a failure. */
  asError(): this;
  text(text: string): this;
  /** Adds a JSON value: the structured result. */
  json(value: unknown): this;
  /** Adds an image, for example of the type `image/png`. */
  image(data: Uint8Array, mediaType: string): this;
  /** Adds a sound, for example of the type `audio/wav`. */
  audio(data: Uint8Array, mediaType: string): this;
  /** Adds a document, or without `data` a pointer to one. */
  document(uri: string, data?: Uint8Array, mediaType?: string): this;
}

/** The reason why a call gave no reply, for the model to read. Of any other exception it reads type, message and place. */
export declare class ToolError extends Error {
  readonly kind: "invalid-arguments" | "denied" | "unavailable" | "failed" | "unknown-tool";
}
/** The arguments are not what the tool takes. */
export declare class InvalidArguments extends ToolError {
  constructor(text: string);
}
/** The tool needs something that it was not granted. */
export declare class Denied extends ToolError {
  constructor(text: string);
}
/** Something that the tool needs cannot be reached now. A later call may succeed. */
export declare class Unavailable extends ToolError {
  constructor(text: string);
}
/** The tool failed in another way. */
export declare class Failed extends ToolError {
  constructor(text: string);
}
/** An error of processes, files or HTTP; `reason` is its name in the contract, for example `not-found`. */
export declare class HostError extends ToolError {
  readonly reason: string;
  readonly index?: number;
  constructor(reason: string, text: string, index?: number);
}

/** Facts about the running call. */
export declare const context: {
  /** Returns the chat that the call belongs to. */
  chat(): string;
  /** Returns the absolute path of the workspace directory, as a command that runs there sees it. */
  workspaceRoot(): string;
  /** Returns how many seconds are left until the host ends the call. */
  remaining(): number;
  /** Returns whether the caller has cancelled the call. */
  cancelled(): boolean;
  /** Returns what the caller said about itself under this name, for example `locale`. */
  attribute(name: string): string | undefined;
};

/** Settings and secrets that the operator gave this plugin. */
export declare const settings: {
  get(key: string): string | undefined;
  get(key: string, fallback: string): string;
  /** Returns the value of a secret. Throws `Denied` with the reason if there is none. */
  secret(name: string): string;
};

/** Lines for the operator's log. They never reach the caller or the model. */
export declare const log: {
  debug(message: unknown): void;
  info(message: unknown): void;
  warn(message: unknown): void;
  error(message: unknown): void;
};

/** Tells the caller how far a call has come. */
export declare const progress: {
  /** Reports that `done` out of `total` units of work are done. `done` must not decrease; `message` is for a person. */
  report(done: number, total?: number, message?: string): void;
};

/** The export `tools` of the component: `export { tools } from "toolhost"`. */
export declare const tools: unknown;

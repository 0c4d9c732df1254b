// The files of a chat: upload, download, directories and archives.

import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";

import { Refused } from "./errors.js";
import type { Connection, Outgoing } from "./http.js";
import type { FileEntry } from "./types.js";

/** What is uploaded. A stream is sent once; everything else is sent again after a lost connection. */
export type Upload = string | Uint8Array | Blob | ReadableStream<Uint8Array>;

export interface UploadOptions {
  /** The ETag that the file must have, or `null` for a file that must not exist: else the error is `file_changed`. */
  ifMatch?: string | null;
  signal?: AbortSignal;
}

/** The slowest upload, in bytes a millisecond. */
const SLOWEST = 100;

/** The files in the workspace of a chat. A path is relative to the workspace, or absolute. */
export class Files {
  constructor(
    private readonly connection: Connection,
    private readonly base: string,
  ) {}

  /**
   * Downloads a file. The response has the bytes as a stream, and `etag` and `content-length` in its headers. The
   * headers of the request can ask for a range, or for another version than the last one (status 304).
   */
  get(
    path: string,
    options: { headers?: Record<string, string>; signal?: AbortSignal | undefined } = {},
  ): Promise<Response> {
    return this.connection.send({ method: "GET", path: this.at(path), ...options }, (response) => response);
  }

  /** Downloads a directory as an archive. */
  archive(path = "", format: "tar" | "tar.gz" | "zip" = "zip", signal?: AbortSignal): Promise<Response> {
    const request = { method: "GET", path: this.at(path), query: { archive: format }, signal } as const;
    return this.connection.send(request, (response) => response);
  }

  /** Yields the entries of a directory in the order of their names. */
  async *list(path = "", signal?: AbortSignal): AsyncGenerator<FileEntry, void> {
    for (let after: number | undefined; ;) {
      const request = { method: "GET", path: this.at(path), query: { after, limit: 1000 }, signal } as const;
      const page = await this.connection.json<{ entries: FileEntry[]; next?: number }>(request);
      yield* page.entries;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /**
   * Uploads a whole file and returns its ETag. The file stays as it was if the upload fails. With a condition, a repeat
   * after a lost answer may find the file that it wrote itself. That is a success.
   */
  async put(path: string, content: Upload, options: UploadOptions = {}): Promise<string> {
    const { ifMatch, signal } = options;
    const isStream = content instanceof ReadableStream;
    const body = isStream ? content : new Blob([content as BlobPart]);
    const request: Outgoing = {
      method: "PUT",
      path: this.at(path),
      headers: { ...(ifMatch && { "if-match": ifMatch }), ...(ifMatch === null && { "if-none-match": "*" }) },
      body,
      idempotent: !isStream,
      readTimeout: isStream ? 2 ** 31 - 1 : 60_000 + Math.round((body as Blob).size / SLOWEST),
      signal,
    };
    try {
      return await this.connection.send(request, (response) => response.headers.get("etag") ?? "");
    } catch (error) {
      if (isStream || !isAfterLostAnswer(error) || error.code !== "file_changed") throw error;
      const response = await this.get(path, { signal });
      if ((await digest(response.body)) !== (await digest((body as Blob).stream()))) throw error;
      return response.headers.get("etag") ?? "";
    }
  }

  /** Uploads a local file and returns its ETag. */
  async upload(path: string, local: string, options: UploadOptions = {}): Promise<string> {
    return this.put(path, await openAsBlob(local), options);
  }

  /** Removes a file, a link or a directory, which must be empty unless `recursive` is set. */
  async delete(
    path: string,
    options: { recursive?: boolean; ifMatch?: string; signal?: AbortSignal } = {},
  ): Promise<void> {
    const { recursive, ifMatch, signal } = options;
    const headers: Record<string, string> = ifMatch ? { "if-match": ifMatch } : {};
    const query = { recursive };
    try {
      await this.connection.json({ method: "DELETE", path: this.at(path), query, headers, signal });
    } catch (error) {
      // The attempt whose answer was lost may have removed it.
      if (!isAfterLostAnswer(error) || !(await this.isGone(path, signal))) throw error;
    }
  }

  private async isGone(path: string, signal?: AbortSignal): Promise<boolean> {
    try {
      await (await this.get(path, { signal })).body?.cancel();
      return false;
    } catch (error) {
      return error instanceof Refused && error.code === "unknown_file";
    }
  }

  /** Returns the address of a path. The first slash of an absolute path is encoded. */
  private at(path: string): string {
    const relative = path.replace(/^\//, "").split("/").map(encodeURIComponent).join("/");
    const slash = path.startsWith("/") ? "%2F" : "";
    return `${this.base}/files${path ? `/${slash}${relative}` : ""}`;
  }
}

function isAfterLostAnswer(error: unknown): error is Refused {
  return error instanceof Refused && error.afterLostAnswer;
}

async function digest(content: ReadableStream<Uint8Array> | null): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of content ?? []) hash.update(piece);
  return hash.digest("hex");
}

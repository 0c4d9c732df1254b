// The output of a process as rows, in bounded memory however long the output is.
//
// The output is read once from its beginning, to count its rows. On the way the model keeps marks: copies of the terminal at a cursor.
// To show rows again, it fetches the bytes after a mark and writes them to a copy of the terminal of that mark.

import { Terminal } from "./terminal.js";
import { Pace } from "../core/pace.js";
import { sizeText } from "../core/text.js";

/** The bytes between two marks. */
const PART = 512 << 10;
/** How many parts are kept as rows. */
const KEPT = 4;
/** The bytes of one request. */
const REQUEST = 256 << 10;
/** The characters that are written without a look at the clock. */
const STEP = 16 << 10;

/**
 * @typedef {import("./terminal.js").Row} Row
 * @typedef {{offset: number, length: number, total_bytes: number, end: boolean, text?: string, base64?: string}} Piece
 *   output from a cursor on, as the server returns it
 * @typedef {(since: number, max: number) => Promise<Piece>} Fetch
 * @typedef {{from: number, to: number, first: number, count: number, terminal: import("./terminal.js").Snapshot,
 *   note?: string}} Part bytes between two cursors, with the number of the first row that becomes final in them, and how many do
 */

/** @param {string} encoded */
function decode(encoded) {
  const binary = atob(encoded);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return new TextDecoder().decode(bytes);
}

/** @param {{text?: string, base64?: string}} piece */
const textOf = (piece) => piece.text ?? decode(piece.base64 ?? "");

export class Output {
  /**
   * @param {Fetch} fetch
   * @param {() => void} changed is called after rows have changed or arrived
   */
  constructor(fetch, changed) {
    this.fetch = fetch;
    this.changed = changed;
    /** The cursor up to which the output is read. */
    this.read = 0;
    /** The cursor up to which there is output. */
    this.written = 0;
    /** @type {Part[]} */
    this.parts = [];
    /** The rows of the parts that are kept, with those used last at the end. @type {Map<number, Row[]>} */
    this.kept = new Map();
    /** The parts that are being fetched. @type {Set<number>} */
    this.coming = new Set();
    /** @type {Row[]} */
    this.rows = [];
    this.terminal = new Terminal((row) => this.rows.push(row));
    this.begun = { from: 0, first: 0, terminal: this.terminal.snapshot() };
    this.pace = new Pace();
    this.isReading = false;
    this.isClosed = false;
    /** Why the output cannot be read. @type {string | undefined} */
    this.problem = undefined;
  }

  /** The number of rows. */
  get count() {
    return this.terminal.count;
  }

  /** Stops reading. */
  close() {
    this.isClosed = true;
  }

  /**
   * Takes output that the server sent.
   * @param {{offset: number, length: number, text?: string, base64?: string}} piece
   */
  receive(piece) {
    const end = piece.offset + piece.length;
    this.written = Math.max(this.written, end);
    if (this.isReading || this.isClosed) return;
    if (piece.offset !== this.read) {
      this.readUpTo(this.written);
      return;
    }
    this.terminal.write(textOf(piece));
    this.advance(piece.length);
    this.changed();
  }

  /**
   * Writes a long text, with pauses.
   * @param {Terminal} terminal
   * @param {string} text
   */
  async write(terminal, text) {
    for (let at = 0; at < text.length && !this.isClosed; at += STEP) {
      terminal.write(text.slice(at, at + STEP));
      await this.pace.keep();
    }
  }

  /**
   * Reads the output up to a cursor.
   * @param {number} cursor
   */
  async readUpTo(cursor) {
    this.written = Math.max(this.written, cursor);
    if (this.isReading || this.isClosed) return;
    this.isReading = true;
    try {
      while (this.read < this.written && !this.isClosed) {
        const piece = await this.fetch(this.read, REQUEST);
        if (this.isClosed) return;
        this.problem = undefined;
        this.written = Math.max(this.written, piece.total_bytes);
        if (piece.offset > this.read) this.gap(piece.offset - this.read);
        if (piece.length === 0 && piece.offset <= this.read) break;
        await this.write(this.terminal, textOf(piece));
        if (this.isClosed) return;
        this.advance(piece.length);
        this.changed();
      }
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    } finally {
      this.isReading = false;
      if (!this.isClosed) this.changed();
    }
  }

  /** Notes that bytes were written. @param {number} length */
  advance(length) {
    this.read += length;
    if (this.read - this.begun.from >= PART) this.mark();
  }

  /** Notes that bytes are no longer kept. @param {number} length */
  gap(length) {
    const note = `… ${sizeText(length)} of output are no longer kept …`;
    this.terminal.note(note);
    this.mark(note);
    this.read += length;
    this.begun.from = this.read;
  }

  /** Begins a new part. @param {string} [note] the row that ended the part before */
  mark(note) {
    const { from, first, terminal } = this.begun;
    this.parts.push({ from, to: this.read, first, count: this.terminal.final - first, terminal, note });
    this.keep(this.parts.length - 1, this.rows);
    this.rows = [];
    this.begun = { from: this.read, first: this.terminal.final, terminal: this.terminal.snapshot() };
  }

  /**
   * @param {number} part
   * @param {Row[]} rows
   */
  keep(part, rows) {
    this.kept.delete(part);
    this.kept.set(part, rows);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= KEPT) break;
      this.kept.delete(oldest);
    }
  }

  /**
   * Returns a row, or nothing while it is fetched.
   * @param {number} number
   * @returns {Row | undefined}
   */
  row(number) {
    const { terminal, begun } = this;
    if (number >= terminal.final) return terminal.rows[number - terminal.final];
    if (number >= begun.first) return this.rows[number - begun.first];
    const at = this.partOf(number);
    const rows = this.kept.get(at);
    if (!rows) {
      this.restore(at);
      return undefined;
    }
    this.keep(at, rows);
    return rows[number - this.parts[at].first];
  }

  /** Returns the place of the part in which a row became final. @param {number} number */
  partOf(number) {
    let [low, high] = [0, this.parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.parts[middle].first <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Fetches a part again. @param {number} at */
  async restore(at) {
    if (this.coming.has(at)) return;
    this.coming.add(at);
    const part = this.parts[at];
    /** @type {Row[]} */
    const rows = [];
    const terminal = Terminal.from(part.terminal, (row) => rows.push(row));
    try {
      for (let cursor = part.from; cursor < part.to && !this.isClosed; ) {
        const piece = await this.fetch(cursor, Math.max(4, part.to - cursor));
        if (piece.offset !== cursor || piece.length === 0) break;
        await this.write(terminal, textOf(piece));
        cursor += piece.length;
      }
      if (part.note) terminal.note(part.note);
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.coming.delete(at);
    if (this.isClosed) return;
    // The number of rows stays as it was counted, even if bytes are no longer kept.
    rows.length = Math.min(rows.length, part.count);
    while (rows.length < part.count) rows.push({ text: "… no longer kept …", styles: "", note: true });
    this.keep(at, rows);
    this.changed();
  }
}

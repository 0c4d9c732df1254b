// A terminal for output: it turns text with control sequences into rows, as a terminal would show them.
//
// The last rows are its screen, within which the cursor moves. A row that leaves the screen is final. The screen is small, because every
// mark in an output has a copy of it.

import { afterSgr, styleId } from "./style.js";

/** The rows of the screen. */
export const SCREEN = 40;
/** The most characters of a row; the rest of a longer line goes on below. */
export const COLUMNS = 1000;
/** The most characters of a control sequence that is kept until its end arrives. */
const MAX_SEQUENCE = 512;

/**
 * A row: its text, and for each character the number of its style. Without styles, `styles` is empty.
 * @typedef {{text: string, styles: string, note?: boolean}} Row
 */

/**
 * A terminal at one moment.
 * @typedef {{rows: Row[], final: number, x: number, y: number, saved: [number, number], style: import("./style.js").Style,
 *   pending: string, skipping: boolean, isHome: boolean}} Snapshot
 */

/** Returns a copy of a text that does not keep the longer text alive of which it is a part. */
const detached = (/** @type {string} */ text) => (text === "" ? "" : ` ${text}`.slice(1));

const PLAIN = "\0";

export class Terminal {
  /** @param {(row: Row) => void} finished takes each row that becomes final */
  constructor(finished) {
    this.finished = finished;
    /** @type {Row[]} */
    this.rows = [{ text: "", styles: "" }];
    /** The number of rows that are final. */
    this.final = 0;
    this.x = 0;
    this.y = 0;
    /** @type {[number, number]} */
    this.saved = [0, 0];
    /** @type {import("./style.js").Style} */
    this.style = { fg: -1, bg: -1, flags: 0 };
    this.mark = PLAIN;
    this.pending = "";
    this.skipping = false;
    /** Whether the cursor was sent to the first place of the screen, and nothing was written since. */
    this.isHome = false;
  }

  /** @returns {Snapshot} */
  snapshot() {
    const rows = this.rows.map((row) => ({ ...row, text: detached(row.text), styles: detached(row.styles) }));
    const { final, x, y, saved, style, pending, skipping, isHome } = this;
    return { rows, final, x, y, saved, style, pending: detached(pending), skipping, isHome };
  }

  /**
   * Continues from a snapshot.
   * @param {Snapshot} snapshot
   * @param {(row: Row) => void} finished
   */
  static from(snapshot, finished) {
    const terminal = new Terminal(finished);
    Object.assign(terminal, snapshot);
    terminal.rows = snapshot.rows.map((row) => ({ ...row }));
    terminal.mark = String.fromCharCode(styleId(snapshot.style));
    return terminal;
  }

  /** The number of rows, final or not. The last one does not count while it is empty. */
  get count() {
    const last = this.rows[this.rows.length - 1];
    return this.final + this.rows.length - (last.text === "" ? 1 : 0);
  }

  /** @param {string} added */
  write(added) {
    const text = this.pending + added;
    this.pending = "";
    let at = 0;
    while (at < text.length) {
      if (this.skipping) {
        at = this.skip(text, at);
        continue;
      }
      let end = at;
      while (end < text.length && !isControl(text.charCodeAt(end))) end++;
      if (end > at) this.put(text.slice(at, end));
      if (end === text.length) break;
      at = this.control(text, end);
    }
  }

  /**
   * Adds a row that is no output, such as one about a gap.
   * @param {string} text
   */
  note(text) {
    if (this.rows[this.rows.length - 1].text !== "") this.rows.push({ text: "", styles: "" });
    this.rows[this.rows.length - 1] = { text, styles: "", note: true };
    this.rows.push({ text: "", styles: "" });
    this.y = this.rows.length - 1;
    this.x = 0;
    this.trim();
  }

  /** Lets the first rows become final if there are more than the screen has. */
  trim() {
    while (this.rows.length > SCREEN) this.finish();
  }

  finish() {
    const row = this.rows.shift();
    if (row) this.finished(row);
    this.final++;
    this.y = Math.max(0, this.y - 1);
    this.saved = [this.saved[0], Math.max(0, this.saved[1] - 1)];
  }

  newline() {
    this.x = 0;
    this.y++;
    this.isHome = false;
    if (this.y === this.rows.length) {
      this.rows.push({ text: "", styles: "" });
      this.trim();
    }
  }

  /**
   * Writes text without control characters at the cursor.
   * @param {string} text
   */
  put(text) {
    let at = 0;
    this.isHome = false;
    while (at < text.length) {
      if (this.x >= COLUMNS) this.newline();
      const part = text.slice(at, at + COLUMNS - this.x);
      this.overwrite(this.x, part, this.mark);
      this.x += part.length;
      at += part.length;
    }
  }

  /**
   * @param {number} x
   * @param {string} part
   * @param {string} mark
   */
  overwrite(x, part, mark) {
    const row = this.rows[this.y];
    const before = row.text.length;
    if (row.note) row.note = false;
    if (mark !== PLAIN || row.styles !== "") {
      const styles = row.styles.padEnd(Math.max(before, x), PLAIN);
      row.styles = styles.slice(0, x) + mark.repeat(part.length) + styles.slice(x + part.length);
    }
    if (x === before) row.text += part;
    else {
      const text = row.text.padEnd(x, " ");
      row.text = text.slice(0, x) + part + text.slice(x + part.length);
    }
  }

  /**
   * Handles the control character at a place, and returns where to go on.
   * @param {string} text
   * @param {number} at
   */
  control(text, at) {
    switch (text.charCodeAt(at)) {
      case 0x0a:
        this.newline();
        break;
      case 0x0d:
        this.x = 0;
        break;
      case 0x08:
        this.x = Math.max(0, this.x - 1);
        break;
      case 0x09:
        this.x = Math.min(COLUMNS - 1, (this.x >> 3) * 8 + 8);
        if (this.x > this.rows[this.y].text.length) {
          const length = this.rows[this.y].text.length;
          this.overwrite(length, " ".repeat(this.x - length), PLAIN);
        }
        break;
      case 0x1b:
        return this.escape(text, at);
      default:
    }
    return at + 1;
  }

  /**
   * Handles an escape sequence. If its end is missing, it waits for more text.
   * @param {string} text
   * @param {number} at
   */
  escape(text, at) {
    const kind = text[at + 1];
    if (kind === "[") return this.csi(text, at);
    // Strings for the terminal itself, such as titles, links and pictures: they are left out.
    if (kind !== undefined && "]P_^X".includes(kind)) {
      this.skipping = true;
      return at + 2;
    }
    const length = kind !== undefined && "()*+#% ".includes(kind) ? 3 : 2;
    if (at + length > text.length) {
      this.pending = text.slice(at);
      return text.length;
    }
    if (kind === "7") this.saved = [this.x, this.y];
    if (kind === "8") [this.x, this.y] = this.saved;
    if (kind === "M") this.y = Math.max(0, this.y - 1);
    if (kind === "D" || kind === "E") this.newline();
    if (kind === "c") this.restyle("0");
    return at + length;
  }

  /** Leaves out a string for the terminal, up to its end. */
  skip(/** @type {string} */ text, /** @type {number} */ at) {
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 0x07 || code === 0x9c || code === 0x18) {
        this.skipping = false;
        return at + 1;
      }
      if (code === 0x1b) {
        if (at + 1 === text.length) {
          this.pending = "\x1b";
          return text.length;
        }
        this.skipping = false;
        return text[at + 1] === "\\" ? at + 2 : at;
      }
      // A line that ends shows that the string was never closed.
      if (code === 0x0a) {
        this.skipping = false;
        return at;
      }
    }
    return at;
  }

  /**
   * @param {string} text
   * @param {number} at
   */
  csi(text, at) {
    let end = at + 2;
    while (end < text.length && text.charCodeAt(end) >= 0x20 && text.charCodeAt(end) <= 0x3f) end++;
    if (end === text.length && end - at < MAX_SEQUENCE) {
      this.pending = text.slice(at);
      return end;
    }
    const final = text.charCodeAt(end);
    // It is broken: what follows is text.
    if (!(final >= 0x40 && final <= 0x7e) || end - at > MAX_SEQUENCE) return end;
    this.act(text[end], text.slice(at + 2, end));
    return end + 1;
  }

  /**
   * @param {string} final
   * @param {string} parameters
   */
  act(final, parameters) {
    if (final === "m") {
      if (!/^[<=>?]/.test(parameters)) this.restyle(parameters);
      return;
    }
    if (parameters.startsWith("?")) return;
    const values = parameters.split(";", 4).map((value) => Math.min(Number.parseInt(value, 10) || 0, 10_000));
    const [first = 0, second = 0] = values;
    const count = Math.max(1, first);
    const row = this.rows[this.y];
    switch (final) {
      case "A":
      case "F":
        this.y = Math.max(0, this.y - count);
        if (final === "F") this.x = 0;
        break;
      case "B":
      case "E":
        this.y = Math.min(this.rows.length - 1, this.y + count);
        if (final === "E") this.x = 0;
        break;
      case "C":
        this.x = Math.min(COLUMNS - 1, this.x + count);
        break;
      case "D":
        this.x = Math.max(0, this.x - count);
        break;
      case "G":
      case "`":
        this.x = Math.min(COLUMNS, count) - 1;
        break;
      case "d":
        this.move(count - 1, this.x);
        break;
      case "H":
      case "f":
        this.move(count - 1, Math.min(COLUMNS, Math.max(1, second)) - 1);
        break;
      case "K":
        this.eraseInRow(first);
        break;
      case "J":
        this.eraseInScreen(first);
        break;
      case "X":
        if (this.x < row.text.length) this.overwrite(this.x, " ".repeat(Math.min(count, row.text.length - this.x)), PLAIN);
        break;
      case "P":
        row.text = row.text.slice(0, this.x) + row.text.slice(this.x + count);
        row.styles = row.styles.slice(0, this.x) + row.styles.slice(this.x + count);
        break;
      case "s":
        this.saved = [this.x, this.y];
        break;
      case "u":
        [this.x, this.y] = this.saved;
        break;
      default:
    }
  }

  /** Moves the cursor to a row of the screen, and makes the rows above it. */
  move(/** @type {number} */ y, /** @type {number} */ x) {
    const wanted = Math.min(y, SCREEN - 1);
    while (this.rows.length <= wanted) this.rows.push({ text: "", styles: "" });
    [this.x, this.y] = [x, wanted];
    this.isHome = x === 0 && wanted === 0;
  }

  restyle(/** @type {string} */ parameters) {
    this.style = afterSgr(this.style, parameters);
    this.mark = String.fromCharCode(styleId(this.style));
  }

  eraseInRow(/** @type {number} */ which) {
    const row = this.rows[this.y];
    if (which === 0) {
      row.text = row.text.slice(0, this.x);
      row.styles = row.styles.slice(0, this.x);
    } else if (which === 1) {
      this.overwrite(0, " ".repeat(Math.min(this.x + 1, row.text.length)), PLAIN);
    } else {
      row.text = "";
      row.styles = "";
    }
  }

  /** Erases a part of the screen. If it is all of it, the rows become final, so that nothing that was written is lost. */
  eraseInScreen(/** @type {number} */ which) {
    if (which === 0 && !this.isHome) {
      this.eraseInRow(0);
      this.rows.length = this.y + 1;
      return;
    }
    if (which === 1 || which === 3) return;
    while (this.rows.length > 1 && this.rows[this.rows.length - 1].text === "") this.rows.pop();
    const left = this.rows.length === 1 && this.rows[0].text === "" ? 0 : this.rows.length;
    for (let row = 0; row < left; row++) this.finish();
    if (this.rows.length === 0) this.rows.push({ text: "", styles: "" });
    this.y = 0;
    this.saved = [0, 0];
  }
}

/** @param {number} code */
const isControl = (code) => code < 0x20 || (code >= 0x7f && code <= 0x9f);

// A window on the rows of an output: it has elements only for the rows that are seen.

import { dress, styleOf } from "./style.js";
import { visible } from "../core/text.js";

/** The greatest height of the space, in pixels: browsers allow about 16 million. Beyond that, a pixel of it stands for several rows. */
const MAX_HEIGHT = 8_000_000;
/** Rows that are drawn above and below. */
const MARGIN = 4;

/** @param {string} name @param {string} [kind] */
function make(name, kind) {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  return element;
}

export class Viewer {
  /**
   * @param {HTMLElement} place where it is put
   * @param {string} label the name of the region, for screen readers
   * @param {(following: boolean) => void} turned is called when it begins or stops to follow the end
   */
  constructor(place, label, turned) {
    this.turned = turned;
    /** @type {import("./model.js").Output | undefined} */
    this.output = undefined;
    this.scroller = make("div", "terminal");
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "region");
    this.scroller.setAttribute("aria-label", label);
    this.space = make("div", "terminal-space");
    this.layer = make("div", "terminal-rows");
    this.space.append(this.layer);
    this.scroller.append(this.space);
    place.append(this.scroller);
    /** The first row that is seen; it has a fraction. */
    this.top = 0;
    this.isFollowing = true;
    this.rowHeight = 18;
    this.widest = 0;
    this.height = -1;
    /** Where this set the scroll bar itself. */
    this.ownPlace = -1;
    this.frame = 0;
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.pressed(event));
    this.scroller.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.sizes = new ResizeObserver(() => this.refresh());
    this.sizes.observe(this.scroller);
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.sizes.disconnect();
    this.scroller.remove();
  }

  /** Draws again in the next frame. */
  refresh() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** @param {boolean} following */
  follow(following) {
    if (this.isFollowing !== following) {
      this.isFollowing = following;
      this.turned(following);
    }
    this.refresh();
  }

  /** The number of rows that fit. */
  get page() {
    return Math.max(1, this.scroller.clientHeight / this.rowHeight);
  }

  get count() {
    return this.output?.count ?? 0;
  }

  get isScaled() {
    return this.count * this.rowHeight > MAX_HEIGHT;
  }

  /** The last value that `top` can have. */
  get last() {
    return Math.max(0, this.count - this.page);
  }

  scrolled() {
    const place = this.scroller.scrollTop;
    if (Math.abs(place - this.ownPlace) < 1) return;
    this.ownPlace = -1;
    const room = this.scroller.scrollHeight - this.scroller.clientHeight;
    this.top = this.isScaled ? (place / Math.max(1, room)) * this.last : place / this.rowHeight;
    this.follow(place >= room - 2);
    this.refresh();
  }

  /** Scrolls by rows where the scroll bar is too coarse for it. @param {number} rows */
  scrollBy(rows) {
    this.top = Math.min(this.last, Math.max(0, this.top + rows));
    this.follow(this.top >= this.last);
    this.refresh();
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = this.page - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    const rows = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (rows === undefined) return;
    event.preventDefault();
    this.scrollBy(rows);
  }

  /** @param {WheelEvent} event */
  wheeled(event) {
    if (!this.isScaled || event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    const perUnit = event.deltaMode === 0 ? 1 / this.rowHeight : event.deltaMode === 1 ? 1 : this.page;
    this.scrollBy(event.deltaY * perUnit);
  }

  draw() {
    this.frame = 0;
    const { count, scroller, layer, rowHeight } = this;
    this.resize();
    if (this.isFollowing) this.top = this.last;
    this.top = Math.min(this.top, this.last);
    this.place();
    const first = Math.max(0, Math.floor(this.top) - MARGIN);
    const end = Math.min(count, Math.ceil(this.top + this.page) + MARGIN);
    while (layer.childElementCount > end - first) layer.lastElementChild?.remove();
    while (layer.childElementCount < end - first) layer.append(make("div", "terminal-row"));
    for (let row = first; row < end; row++) {
      this.fill(/** @type {HTMLElement} */ (layer.children[row - first]), this.output?.row(row));
    }
    layer.style.transform = `translateY(${Math.round((first - this.top) * rowHeight)}px)`;
    const width = `${this.widest + 2}ch`;
    if (this.space.style.minWidth !== width) this.space.style.minWidth = width;
    scroller.dataset.first = String(first);
    scroller.dataset.count = String(count);
  }

  resize() {
    const wanted = Math.min(MAX_HEIGHT, Math.ceil(this.count * this.rowHeight));
    if (wanted !== this.height) this.space.style.height = `${wanted}px`;
    this.height = wanted;
  }

  /** Sets the scroll bar. */
  place() {
    const room = Math.max(0, this.height - this.scroller.clientHeight);
    const ratio = this.last === 0 ? 0 : this.top / this.last;
    const wanted = this.isScaled || this.isFollowing ? ratio * room : this.top * this.rowHeight;
    if (Math.abs(this.scroller.scrollTop - wanted) < 1) return;
    this.scroller.scrollTop = wanted;
    this.ownPlace = this.scroller.scrollTop;
  }

  /**
   * @param {HTMLElement} element
   * @param {import("./terminal.js").Row | undefined} row
   */
  fill(element, row) {
    element.classList.toggle("is-note", row === undefined || row.note === true);
    if (row === undefined) {
      element.textContent = "…";
      return;
    }
    const { text, styles } = row;
    this.widest = Math.max(this.widest, text.length);
    if (styles === "") {
      element.textContent = visible(text);
      return;
    }
    const runs = [];
    for (let from = 0; from < text.length; ) {
      const style = styles.charCodeAt(from) || 0;
      let to = from + 1;
      while (to < text.length && (styles.charCodeAt(to) || 0) === style) to++;
      const shown = visible(text.slice(from, to));
      if (style === 0) runs.push(document.createTextNode(shown));
      else {
        const run = make("span");
        run.textContent = shown;
        dress(run, styleOf(style));
        runs.push(run);
      }
      from = to;
    }
    element.replaceChildren(...runs);
  }
}

// Texts: values as people read them, and foreign texts as they can be shown.

/** Characters that change the order or the looks of the text around them, or that have no looks of their own. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Marks above and below one letter, more than any script has. */
const PILES = /(\p{M}{8})\p{M}+/gu;

/** Returns whether a joiner stands between characters that it can join: those of emoji and of scripts other than Latin. */
function joins(/** @type {string} */ text, /** @type {number} */ at) {
  const code = text.charCodeAt(at);
  return (code === 0x200c || code === 0x200d) && text.charCodeAt(at - 1) > 0x2ff && text.charCodeAt(at + 1) > 0x2ff;
}

/**
 * Returns a foreign text with names in the places of characters that nobody could see, such as `‹U+202E›`, and without piles of marks.
 * Line breaks and tabs stay.
 * @param {unknown} text
 * @returns {string}
 */
export function visible(text) {
  const shown = String(text ?? "").replace(UNSEEN, (found, /** @type {number} */ at, /** @type {string} */ whole) => {
    const code = found.charCodeAt(0);
    if (code === 0x0d) return "";
    return joins(whole, at) ? found : `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
  });
  return /[\u0300-\uffff]/.test(shown) ? shown.replace(PILES, "$1…") : shown;
}

/**
 * Returns a foreign text on one line, cut in its middle if it is long.
 * @param {unknown} text
 * @param {number} [most] the most characters
 */
export function line(text, most = 200) {
  const whole = visible(String(text ?? "").slice(0, most * 8)).replace(/\s+/g, " ").trim();
  if (whole.length <= most) return whole;
  return `${whole.slice(0, most - 1)}…`;
}

/**
 * Returns a size such as `1.2 MB`.
 * @param {number | undefined | null} bytes
 */
export function sizeText(bytes) {
  if (bytes === undefined || bytes === null) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * Returns a duration such as `12 s`, `4 min 5 s` or `3 h 20 min`.
 * @param {number | undefined | null} ms
 */
export function durationText(ms) {
  if (ms === undefined || ms === null) return "–";
  if (ms < 0) return "0 s";
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return coarseText(ms);
}

/**
 * Returns a duration in whole seconds at least.
 * @param {number} ms
 */
export function coarseText(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const two = (/** @type {number} */ big, /** @type {string} */ unit, /** @type {number} */ small, /** @type {string} */ rest) =>
    small === 0 ? `${big} ${unit}` : `${big} ${unit} ${small} ${rest}`;
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  if (seconds < 86_400) return two(Math.floor(seconds / 3600), "h", Math.floor(seconds / 60) % 60, "min");
  return two(Math.floor(seconds / 86_400), "d", Math.floor(seconds / 3600) % 24, "h");
}

const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const other = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

/**
 * Returns the time of a moment, with its day unless it is today.
 * @param {number} ms since 1970
 */
export function timeText(ms) {
  const moment = new Date(ms);
  return (moment.toDateString() === new Date().toDateString() ? today : other).format(moment);
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/**
 * Returns a moment in full, with its day and its time zone.
 * @param {number} ms since 1970
 */
export const fullTimeText = (ms) => full.format(new Date(ms));

/**
 * Returns `1 process`, `2 processes`.
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

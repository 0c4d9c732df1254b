// Styles of terminal text: the parameters of SGR sequences, and their looks.

export const BOLD = 1;
export const DIM = 2;
export const ITALIC = 4;
export const UNDERLINE = 8;
export const INVERSE = 16;
export const STRIKE = 32;

/** The most styles that a page tells apart; text beyond them has no style. */
const MAX_STYLES = 0xd000;

/**
 * A style. A colour is an index into the 256 colours of terminals, or -1 for that of the surface.
 * @typedef {{fg: number, bg: number, flags: number}} Style
 */

/** @type {Style[]} */
const styles = [{ fg: -1, bg: -1, flags: 0 }];
/** @type {Map<number, number>} */
const known = new Map();

/**
 * Returns the style of a number that `styleId` returned.
 * @param {number} id
 */
export const styleOf = (id) => styles[id] ?? styles[0];

/**
 * Returns a number for a style: the same for equal styles, and 0 for text without one.
 * @param {Style} style
 */
export function styleId({ fg, bg, flags }) {
  if (fg < 0 && bg < 0 && flags === 0) return 0;
  const key = ((fg + 1) * 257 + (bg + 1)) * 64 + flags;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (styles.length >= MAX_STYLES) return 0;
  styles.push({ fg, bg, flags });
  known.set(key, styles.length - 1);
  return styles.length - 1;
}

/** @param {number} value a level of red, green or blue, from 0 to 255 */
const cubeLevel = (value) => (value < 48 ? 0 : value < 115 ? 1 : Math.min(5, Math.floor((value - 35) / 40)));

/** Returns the nearest of the 256 colours. */
const nearest = (/** @type {number} */ red, /** @type {number} */ green, /** @type {number} */ blue) =>
  16 + 36 * cubeLevel(red) + 6 * cubeLevel(green) + cubeLevel(blue);

/** Returns whether a number is a level of a colour or an index of one. */
const isByte = (/** @type {number | undefined} */ value) => value !== undefined && value >= 0 && value <= 255;

/**
 * Reads the colour after 38 or 48.
 * @param {number[]} values
 * @param {number} at the place of 38 or 48
 * @returns {{colour: number | undefined, used: number}} the colour, unless it is broken, and how many values it took
 */
function extended(values, at) {
  if (values[at + 1] === 5) return { colour: isByte(values[at + 2]) ? values[at + 2] : undefined, used: 3 };
  if (values[at + 1] === 2) {
    const [red, green, blue] = values.slice(at + 2, at + 5);
    const fits = isByte(red) && isByte(green) && isByte(blue);
    return { colour: fits ? nearest(red, green, blue) : undefined, used: 5 };
  }
  return { colour: undefined, used: 2 };
}

const SET = new Map([[1, BOLD], [2, DIM], [3, ITALIC], [4, UNDERLINE], [7, INVERSE], [9, STRIKE], [21, UNDERLINE]]);
const CLEARED = new Map([[22, BOLD | DIM], [23, ITALIC], [24, UNDERLINE], [27, INVERSE], [29, STRIKE]]);

/**
 * Returns the style after an SGR sequence. Text is never hidden, whatever the sequence says.
 * @param {Style} style
 * @param {string} parameters what is between `[` and `m`
 */
export function afterSgr(style, parameters) {
  let { fg, bg, flags } = style;
  // `38:2::r:g:b` has an empty place for a colour space.
  const plain = parameters.replace(/([34]8):2::/g, "$1:2:").replace(/(^|;)4:0/g, (_, before) => `${before}24`).replace(/(^|;)4:[1-5]/g, (_, before) => `${before}4`);
  const values = plain.split(/[;:]/, 64).map((value) => (value === "" ? 0 : Number(value)));
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    const set = SET.get(value);
    const cleared = CLEARED.get(value);
    if (set) flags |= set;
    else if (cleared) flags &= ~cleared;
    else if (value === 0) [fg, bg, flags] = [-1, -1, 0];
    else if (value >= 30 && value <= 37) fg = value - 30;
    else if (value >= 90 && value <= 97) fg = value - 82;
    else if (value >= 40 && value <= 47) bg = value - 40;
    else if (value >= 100 && value <= 107) bg = value - 92;
    else if (value === 39) fg = -1;
    else if (value === 49) bg = -1;
    else if (value === 38 || value === 48) {
      const { colour, used } = extended(values, at);
      if (colour !== undefined && value === 38) fg = colour;
      if (colour !== undefined && value === 48) bg = colour;
      at += used - 1;
    }
  }
  return { fg, bg, flags };
}

/** The first 16 colours, chosen to be read on the surface of a terminal. */
const BASE = [
  "#767d88", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d0d7de",
  "#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#a5f0f5", "#ffffff",
];

/**
 * Returns the colour of an index.
 * @param {number} index from 0 to 255
 */
function colour(index) {
  if (index < 16) return BASE[index];
  if (index >= 232) {
    const level = 8 + 10 * (index - 232);
    return `rgb(${level}, ${level}, ${level})`;
  }
  const level = (/** @type {number} */ step) => (step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return `rgb(${level(Math.floor(cube / 36))}, ${level(Math.floor(cube / 6) % 6)}, ${level(cube % 6)})`;
}

/**
 * Gives an element the looks of a style.
 * @param {HTMLElement} element
 * @param {Style} style
 */
export function dress(element, { fg, bg, flags }) {
  const inverse = (flags & INVERSE) !== 0;
  const [front, back] = inverse ? [bg, fg] : [fg, bg];
  const look = element.style;
  if (front >= 0) look.color = colour(front);
  else if (inverse) look.color = "var(--terminal)";
  if (back >= 0) look.backgroundColor = colour(back);
  else if (inverse) look.backgroundColor = "var(--terminal-text)";
  // Black and white text on a colour is meant for just that colour.
  if (back >= 0 && (front < 0 || front === 0)) look.color = "#0d1117";
  if (flags & BOLD) look.fontWeight = "700";
  if (flags & DIM) look.opacity = "0.7";
  if (flags & ITALIC) look.fontStyle = "italic";
  const lines = [flags & UNDERLINE ? "underline" : "", flags & STRIKE ? "line-through" : ""].join(" ").trim();
  if (lines) look.textDecoration = lines;
}

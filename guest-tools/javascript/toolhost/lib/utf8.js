// UTF-8, for the engine that has no TextEncoder.

/** Returns the bytes of a text. A lone surrogate becomes U+FFFD. */
export function encode(text) {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (const letter of text) {
    let code = letter.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
    if (code < 0x80) {
      bytes[length++] = code;
      continue;
    }
    const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes[length++] = [0, 0xc0, 0xe0, 0xf0][more] | (code >> (6 * more));
    for (let rest = more - 1; rest >= 0; rest--) bytes[length++] = 0x80 | ((code >> (6 * rest)) & 0x3f);
  }
  return bytes.slice(0, length);
}

/** Returns the text of bytes, with U+FFFD for each part that is not UTF-8. If `isFatal`, such a part is a `TypeError`. */
export function decode(bytes, isFatal = false) {
  const parts = [];
  let codes = [];
  for (let at = 0; at < bytes.length; ) {
    const { code, length } = letterAt(bytes, at);
    if (code === undefined && isFatal) throw new TypeError("the bytes are not UTF-8");
    codes.push(code ?? 0xfffd);
    at += length;
    // The stack bounds the arguments of one call.
    if (codes.length === 4096) {
      parts.push(String.fromCodePoint(...codes));
      codes = [];
    }
  }
  return parts.join("") + String.fromCodePoint(...codes);
}

/** Returns the code of the letter at an offset, or `undefined` if there is none, and how many bytes belong together. */
function letterAt(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return { code: first, length: 1 };
  const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
  if (more === 0) return { length: 1 };
  // The second byte rules out what would be too long, a surrogate, or above U+10FFFF.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  let code = first & (0x3f >> more);
  for (let step = 1; step <= more; step++) {
    const byte = bytes[at + step];
    const fits = step === 1 ? byte >= least && byte <= most : byte >= 0x80 && byte <= 0xbf;
    if (!fits) return { length: step };
    code = (code << 6) | (byte & 0x3f);
  }
  return { code, length: more + 1 };
}

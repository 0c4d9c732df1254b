// Random numbers for QuickJS, whose own begin with a seed that is part of the component. Not for secrets.

let state = [1, 2, 3, 4];

/** Begins the sequence that belongs to a text. */
export function seed(text) {
  // The hash FNV-1a, with another start for each word of the state.
  state = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35].map((start) => {
    let hash = start;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    return hash >>> 0;
  });
  for (let step = 0; step < 20; step++) next();
}

/** Returns 32 random bits, by the generator xoshiro128**. */
function next() {
  const [a, b, c, d] = state;
  const result = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
  state = [a ^ d ^ b, b ^ c ^ a, c ^ a ^ (b << 9), rotated(d ^ b, 11)];
  return result;
}

const rotated = (bits, by) => (bits << by) | (bits >>> (32 - by));

Math.random = () => ((next() >>> 5) * 0x4000000 + (next() >>> 6)) / 2 ** 53;

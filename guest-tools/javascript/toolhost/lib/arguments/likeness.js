// The likeness of two names, by Jaro and Winkler.

/** Returns 1 for equal texts, and 0 for texts without a common letter. */
export function jaroWinkler(one, other) {
  const likeness = jaro(one, other);
  if (likeness <= 0.7) return likeness;
  let common = 0;
  while (common < 4 && common < Math.min(one.length, other.length) && one[common] === other[common]) common++;
  return likeness + common * 0.1 * (1 - likeness);
}

function jaro(one, other) {
  if (one === "" || other === "") return one === other ? 1 : 0;
  const reach = Math.max(Math.floor(Math.max(one.length, other.length) / 2) - 1, 0);
  const taken = new Array(other.length).fill(false);
  const matches = [];
  for (let at = 0; at < one.length; at++) {
    for (let place = Math.max(at - reach, 0); place < Math.min(at + reach + 1, other.length); place++) {
      if (!taken[place] && other[place] === one[at]) {
        taken[place] = true;
        matches.push(one[at]);
        break;
      }
    }
  }
  if (matches.length === 0) return 0;
  const opposite = [...other].filter((_, place) => taken[place]);
  const swapped = matches.filter((letter, at) => letter !== opposite[at]).length / 2;
  const { length } = matches;
  return (length / one.length + length / other.length + (length - swapped) / length) / 3;
}

/** The stretch of one row of cells that another does not have. */

/**
 * First and one-past-last cell of `mine` that reach into what is left between the longest common beginning and end of both texts; null
 * where nothing is left. Compared by text: two tokenizers cut the same text in different places.
 */
export function onlyHere(mine: readonly string[], theirs: readonly string[]): [number, number] | null {
  const a = mine.join("");
  const b = theirs.join("");
  const least = Math.min(a.length, b.length);
  let start = 0;
  while (start < least && a[start] === b[start]) start++;
  let end = 0;
  while (end < least - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  if (a.length - end <= start) return null;
  let at = 0;
  let from = -1;
  let to = mine.length;
  for (const [i, text] of mine.entries()) {
    if (at >= a.length - end) {
      to = i;
      break;
    }
    at += text.length;
    if (from < 0 && at > start) from = i;
  }
  return [from, to];
}

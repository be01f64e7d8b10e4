/**
 * Names, notes and messages come from outside and stand in sentences of ours: what they hold must not hide, or turn round, what stands
 * about them. (The text of tokens has its own marks, made in Python.)
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
/** An isolate that is closed turns nothing round outside itself. */
const ISOLATE = /\u2068([^\u2066-\u2069]*)\u2069/g;
/** Letters that are written from right to left, and the digits among them. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

const mark = (char: string): string => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
const marked = (text: string): string => (text.search(UNSEEN) < 0 ? text : text.replace(UNSEEN, mark));

/** The text with every control character, and everything that sets a direction, as a mark; closed isolates stay. */
export function harmless(text: string): string {
  if (text.search(UNSEEN) < 0) return text;
  let [out, at] = ["", 0];
  for (const { 0: whole, 1: inside, index } of text.matchAll(ISOLATE)) {
    out += `${marked(text.slice(at, index))}\u2068${marked(inside)}\u2069`;
    at = index + whole.length;
  }
  return out + marked(text.slice(at));
}

/** A name for use within a sentence: nothing in it turns what follows, and written from right to left, it keeps to itself. */
export function isolated(name: string): string {
  const safe = marked(name);
  return RIGHT_TO_LEFT.test(safe) ? `\u2068${safe}\u2069` : safe;
}

/**
 * Where a row of text may end. A word stays in one row where it fits; white space goes with the word it leads, so that a token such as
 * " the" is drawn in one piece; text without spaces (Chinese, Japanese, emoji) breaks between characters, not before closing marks.
 */

/** White space at the edge lets a row end there, whatever stands on the other side. */
const SPACE = /\s/;
/** Characters of scripts written without spaces, and pictures. */
const WIDE =
  /[\u2e80-\u303f\u3040-\u30ff\u3100-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\u{1f000}-\u{1faff}\u{20000}-\u{3ffff}]/u;
/** What no row begins with, and what none ends with. */
const CLOSING = /[、。，．：；？！」』）】》〉”’ー々…,.:;!?)\]}%]/;
const OPENING = /[「『（【《〈“‘([{]/;
const HYPHEN = /[-‐–—]/;

export interface Edges {
  /** A row may begin with this text, whatever stands before it. */
  opens: boolean;
  /** A row may end after it: 2 before anything, 1 not before a closing mark, 0 only where the next text opens a row. */
  closes: 0 | 1 | 2;
  /** Begins with a mark that stays with the text before it. */
  sticky: boolean;
}

const firstOf = (text: string): string => String.fromCodePoint(text.codePointAt(0) ?? 0);
/** The last character; of a pair of surrogates both. */
const lastOf = (text: string): string => /[\s\S]$/u.exec(text)?.[0] ?? "";

/** `name`: a special token, a control or a byte, whose name is read whole. */
export function edges(text: string, name: boolean): Edges {
  if (name) return { opens: true, closes: 1, sticky: false };
  if (text === "") return { opens: false, closes: 0, sticky: true };
  const [first, last] = [firstOf(text), lastOf(text)];
  const soft = (WIDE.test(last) && !OPENING.test(last)) || (HYPHEN.test(last) && text.length > 1);
  return {
    opens: SPACE.test(first) || (WIDE.test(first) && !CLOSING.test(first)),
    closes: SPACE.test(last) ? 2 : soft ? 1 : 0,
    sticky: CLOSING.test(first),
  };
}

export const mayBreak = (before: Edges, after: Edges): boolean =>
  before.closes === 2 || after.opens || (before.closes === 1 && !after.sticky);

/** Offsets at which the inside of a text may break, ascending; a line break is followed by one. */
export function inner(text: string): number[] {
  if (text.length < 2) return [];
  const out: number[] = [];
  for (const found of text.matchAll(/\n|[^\S\n]+|[^\s]/gu)) {
    const at = found.index;
    if (at === 0) continue;
    const before = lastOf(text.slice(Math.max(0, at - 2), at));
    const here = found[0];
    if (before === "\n") out.push(at);
    else if (here === "\n" || SPACE.test(before)) continue;
    else if (SPACE.test(here)) out.push(at);
    else if (joins(before, here)) continue;
    else if (
      (WIDE.test(here) && !CLOSING.test(here) && !OPENING.test(before)) ||
      (WIDE.test(before) && !sticks(before, here))
    )
      out.push(at);
  }
  return out;
}

const sticks = (before: string, here: string): boolean => OPENING.test(before) || CLOSING.test(here);

/** One picture or letter made of several characters: joiners, variation selectors, skin tones, combining marks, flags. */
const joins = (before: string, here: string): boolean =>
  /[\u200d\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}\p{M}]/u.test(here) ||
  before === "\u200d" ||
  (/[\u{1f1e6}-\u{1f1ff}]/u.test(before) && /[\u{1f1e6}-\u{1f1ff}]/u.test(here));

const segmenter = typeof Intl !== "undefined" && "Segmenter" in Intl ? new Intl.Segmenter() : null;

/** What a reader takes for one character. */
export function graphemes(text: string): string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return text.split("");
  if (segmenter) return Array.from(segmenter.segment(text), (part) => part.segment);
  // A browser without Intl.Segmenter: combining marks and joined pictures are kept together, which is what shows.
  return text.match(/\P{M}(?:\p{M}|\p{EMod})*(?:\u200d\P{M}\p{M}*)*|\p{M}+/gu) ?? [];
}

/** A text cut at every place where it may break; none where there is no such place. */
export function pieces(text: string): string[] {
  const cuts = inner(text);
  return cuts.length > 0 ? [0, ...cuts].map((from, i) => text.slice(from, cuts[i] ?? text.length)) : [];
}

/** A run's text on one line: short runs whole, long ones with a folded middle. */
import type { QuestionTree } from "./question";

/** Tokens of one kind side by side; or a fold, which says how many tokens it holds. */
export type Part = { text: string; kind: string; found: boolean } | { folded: number };

/** Tokens kept on both sides of one that was found. */
const AROUND = 6;
/** A fold of fewer tokens than that would take more room than it saves. */
const LEAST = 4;
/** Of the room, what the beginning gets: where branches part is what tells them apart. */
const HEAD = 0.7;
/** A token longer than the line is cut in it; the path shows it whole. */
const CUT = "…";

/** Which tokens stay: from the front, from the back, and round those that were found. */
function kept(lengths: readonly number[], room: number, found: ReadonlySet<number>): Uint8Array {
  const keep = new Uint8Array(lengths.length);
  if (lengths.reduce((sum, n) => sum + n, 0) <= room) return keep.fill(1);
  let used = 0;
  for (let i = 0; i < lengths.length && (i === 0 || used + lengths[i] <= room * HEAD); i++) {
    used += lengths[i];
    keep[i] = 1;
  }
  used = 0;
  for (let i = lengths.length - 1; i >= 0 && used + lengths[i] <= room * (1 - HEAD); i--) {
    used += lengths[i];
    keep[i] = 1;
  }
  const first = Math.min(...found, lengths.length);
  if (first < lengths.length)
    for (let i = Math.max(0, first - AROUND); i < Math.min(lengths.length, first + AROUND); i++) keep[i] = 1;
  return keep;
}

/** `room`: characters of the line. */
export function lineOf(tree: QuestionTree, run: number, room: number, found: ReadonlySet<number>): Part[] {
  const shown = tree.tokens(run).map((token) => tree.texts[token]);
  const keep = kept(
    shown.map(([text]) => text.length),
    room,
    found,
  );
  for (let i = 0; i < keep.length; i++) {
    let to = i;
    while (to < keep.length && !keep[to]) to++;
    if (to > i && to - i < LEAST) keep.fill(1, i, to);
    if (to > i) i = to;
  }
  const parts: Part[] = [];
  shown.forEach(([whole, kind], i) => {
    const last = parts[parts.length - 1];
    if (!keep[i]) {
      if (last && "folded" in last) last.folded++;
      else parts.push({ folded: 1 });
      return;
    }
    const text =
      whole.length > room ? `${[...whole].slice(0, Math.max(1, Math.floor(room * HEAD))).join("")}${CUT}` : whole;
    const plain = kind === "t" || kind === "s" || kind === "n";
    const shownAs = plain ? "t" : kind;
    if (last && !("folded" in last) && plain && last.kind === shownAs && last.found === found.has(i)) last.text += text;
    else parts.push({ text, kind: shownAs, found: found.has(i) });
  });
  return parts;
}

/** Which rollouts a list shows and in what order. */

export type OutcomeFilter = "all" | "correct" | "incorrect";
export type SortOrder = "given" | "up" | "down" | "length" | "question";

export interface ListEntry {
  index: number;
  question: string;
  title: string;
  /** What the find box looks through. */
  text: string;
  outcome: string;
  length: number;
  mean: number;
}

export interface ListQuery {
  filter: OutcomeFilter;
  find: string;
  sort: SortOrder;
}

/** A line of the list: a rollout, or the question above a group of them. */
export type ListLine = { kind: "rollout"; index: number } | { kind: "question"; title: string; count: number };

/** Rollouts without a mean stand at the end in either direction. */
function byMean(sign: 1 | -1): (a: ListEntry, b: ListEntry) => number {
  return (a, b) => {
    if (Number.isNaN(a.mean) || Number.isNaN(b.mean))
      return Number(Number.isNaN(a.mean)) - Number(Number.isNaN(b.mean));
    return sign * (a.mean - b.mean) || a.index - b.index;
  };
}

export function arrange(entries: readonly ListEntry[], query: ListQuery): ListLine[] {
  const needle = query.find.trim().toLocaleLowerCase();
  const shown = entries.filter(
    (e) =>
      (query.filter === "all" || e.outcome === query.filter) &&
      (!needle || e.text.toLocaleLowerCase().includes(needle)),
  );
  if (query.sort === "up") shown.sort(byMean(1));
  else if (query.sort === "down") shown.sort(byMean(-1));
  else if (query.sort === "length") shown.sort((a, b) => b.length - a.length || a.index - b.index);
  else if (query.sort === "question") return grouped(shown);
  return shown.map((e) => ({ kind: "rollout", index: e.index }));
}

function grouped(entries: readonly ListEntry[]): ListLine[] {
  const groups = new Map<string | number, ListEntry[]>();
  for (const entry of entries) {
    // A rollout without a question stands alone.
    const key = entry.question || entry.index;
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  return [...groups.values()].flatMap((group): ListLine[] => [
    { kind: "question", title: group[0].title, count: group.length },
    ...group.map((e): ListLine => ({ kind: "rollout", index: e.index })),
  ]);
}

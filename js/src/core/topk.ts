/** The two top-k lists as rows of one table. */

export interface TopRow {
  id: number;
  /** Log-probabilities in nats; NaN where not known. */
  student: number;
  teacher: number;
}

const chance = (logp: number): number => (Number.isNaN(logp) ? 0 : Math.exp(logp));

export function unionRows(student: readonly TopRow[], teacher: readonly TopRow[]): TopRow[] {
  const rows = new Map<number, TopRow>();
  for (const row of [...student, ...teacher]) {
    const seen = rows.get(row.id);
    if (!seen) rows.set(row.id, { ...row });
    else {
      if (Number.isNaN(seen.student)) seen.student = row.student;
      if (Number.isNaN(seen.teacher)) seen.teacher = row.teacher;
    }
  }
  return [...rows.values()].sort(
    (a, b) => chance(b.student) - chance(a.student) || chance(b.teacher) - chance(a.teacher) || a.id - b.id,
  );
}

/**
 * The `most` rows that matter to either side, in the same order, and always the sampled token: cutting the sorted list itself would
 * hide exactly the tokens that only the teacher wants.
 */
export function shortRows(rows: readonly TopRow[], most: number, sampled: number | null): TopRow[] {
  const weight = (row: TopRow): number => Math.max(chance(row.student), chance(row.teacher));
  const kept = new Set([...rows].sort((a, b) => weight(b) - weight(a)).slice(0, most));
  return rows.filter((row) => kept.has(row) || row.id === sampled);
}

/** Rank of an id among known probabilities, 1 the likeliest; null where it is not among them. */
export function rankOf(rows: readonly TopRow[], id: number, side: "student" | "teacher"): number | null {
  const own = rows.find((row) => row.id === id);
  if (!own || Number.isNaN(own[side])) return null;
  return 1 + rows.filter((row) => row[side] > own[side]).length;
}

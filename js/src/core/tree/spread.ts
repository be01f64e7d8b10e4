/** Where a tree's branches differ most in success. */
import type { QuestionTree, Visits } from "./question";

/**
 * How far the success of a run's branches lies apart: the sum over branches of visits times the squared distance from their mean, which
 * is weighted by visits. Many rollouts between unlike branches count for more than one that strayed. 0 where it cannot be said.
 */
export function spread(tree: QuestionTree, run: number, visits: Visits): number {
  const passing = tree.visits(visits);
  const known: [number, number][] = [];
  for (const child of tree.runs.children(run)) {
    const { mean } = tree.success(child);
    if (!Number.isNaN(mean) && passing[child] > 0) known.push([passing[child], mean]);
  }
  const total = known.reduce((sum, [n]) => sum + n, 0);
  if (known.length < 2) return 0;
  const middle = known.reduce((sum, [n, p]) => sum + n * p, 0) / total;
  return known.reduce((sum, [n, p]) => sum + n * (p - middle) ** 2, 0);
}

/** Runs whose branches lie apart, the furthest first. */
export function furthestApart(tree: QuestionTree, visits: Visits): number[] {
  const found: [number, number][] = [];
  for (let run = 0; run < tree.runs.count; run++) {
    if (tree.runs.childCount(run) < 2) continue;
    const apart = spread(tree, run, visits);
    if (apart > 0) found.push([run, apart]);
  }
  return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([run]) => run);
}

import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import compare from "../src/widgets/compare";
import { frame, scoresTraits, shown } from "./shown";

it("keeps its columns, one a rollout, while its cell is out of the page", async () => {
  const scores = makeScores();
  scores.meta.generation = 7;
  const [a, b] = scores.meta.teachers.map((t) => t.name);
  const steps = { generation: 7, first: null, others: [], limits: {} };
  const more = { teacher: a, compared: [a, b], across: "rollouts", step: 0, limits: {}, steps };
  const { el, all } = await shown(compare, { ...scoresTraits(scores), ...more });
  const before = all(".opd-compare-column");
  expect(before.length).toBeGreaterThan(1);
  el.remove();
  all('.opd-compare-pick [aria-pressed="true"]').at(-1)!.click();
  await frame();
  const after = all(".opd-compare-column");
  expect(after).toHaveLength(before.length - 1);
  expect(after.every((column) => before.includes(column))).toBe(true);
});

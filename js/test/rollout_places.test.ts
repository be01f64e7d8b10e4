import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import explorer from "../src/widgets/explorer";
import { scoresTraits, shown } from "./shown";

it("counts rollouts in the list, not the questions above them", async () => {
  const scores = makeScores();
  const { all, one } = await shown(explorer, scoresTraits(scores));
  const sort = one(".opd-list-tools select") as HTMLSelectElement;
  sort.value = "question";
  sort.dispatchEvent(new Event("change", { bubbles: true }));
  expect(all(".opd-list-question").length).toBeGreaterThan(1);
  const rows = all(".opd-row");
  expect(rows.map((row) => Number(row.getAttribute("aria-posinset")))).toEqual(rows.map((_, i) => i + 1));
  expect(new Set(rows.map((row) => row.getAttribute("aria-setsize")))).toEqual(
    new Set([String(scores.meta.rollouts.length)]),
  );
});

it("marks a mean beside infinities wherever it stands", async () => {
  const { all, one } = await shown(explorer, { ...scoresTraits(), rollout: 23, teacher: "Teacher 0.5M" });
  const row = one('[data-teacher-row="Teacher 0.5M"]');
  expect(one('[data-rollout="23"] .opd-row-mean').textContent).toMatch(/\*$/);
  const figures = all('[data-teacher-row="Teacher 0.5M"] .opd-trow-figure').map((node) => node.textContent);
  expect(figures).toEqual([expect.stringMatching(/\*$/), expect.stringMatching(/\*$/)]);
  expect(row.getAttribute("aria-label")).toContain("of −∞");
});

import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import compare from "../src/widgets/compare";
import explorer from "../src/widgets/explorer";
import { scoresTraits, shown } from "./shown";

const signals = makeScores().meta.signals;

it("says the ends that it shows, of a scale of ranks too", async () => {
  const log = signals.find((s) => s.scale === "log" && s.available)!;
  const { all, one } = await shown(explorer, { ...scoresTraits(), signal: log.name });
  const [from, to] = all(".opd-legend-number").map((node) => node.textContent);
  expect(from).toBe("1");
  expect(one(".opd-legend").getAttribute("aria-label")).toContain(`: 1 ${log.low}, ${to} ${log.high}`);
});

it("says that values lie beyond, and writes both ends alike", async () => {
  const scores = makeScores();
  scores.meta.generation = 7;
  const [a, b] = scores.meta.teachers.map((t) => t.name);
  const steps = { generation: 7, first: null, others: [], limits: {} };
  const more = { teacher: a, compared: [a, b], across: "rollouts", step: 0, steps };
  const ends = async (advantage: number): Promise<(string | null)[]> => {
    const { all, one } = await shown(compare, { ...scoresTraits(scores), ...more, limits: { advantage } });
    const numbers = all(".opd-legend-number").map((node) => node.textContent);
    for (const number of numbers) expect(one(".opd-legend").getAttribute("aria-label")).toContain(`${number} `);
    return numbers;
  };
  expect(await ends(12.5)).toEqual(["≤ −12.5", "≥ +12.5"]);
  expect(await ends(15)).toEqual(["≤ −15", "≥ +15"]);
});

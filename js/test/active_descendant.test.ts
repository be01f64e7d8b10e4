import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import compare from "../src/widgets/compare";
import explorer from "../src/widgets/explorer";
import { frame, scoresTraits, shown } from "./shown";

/** Whether what has the focus is said to stand at a node that is there; null where it is said to stand nowhere. */
const pointsAt = (el: HTMLElement, box: HTMLElement): boolean | null => {
  const id = box.getAttribute("aria-activedescendant");
  return id === null ? null : el.querySelector(`[id="${id}"]`) !== null;
};

it("a text without a selected token points at none, after one that had one", async () => {
  const scores = makeScores();
  scores.meta.generation = 7;
  const [a, b] = scores.meta.teachers.map((t) => t.name);
  const steps = { generation: 7, first: null, others: [], limits: {} };
  const more = { teacher: a, compared: [a, b], across: "teachers", step: 0, limits: {}, steps, token: 3 };
  for (const [widget, name] of [
    [explorer, ".opd-strip"],
    [compare, ".opd-aligned"],
  ] as const) {
    const { el, model, one } = await shown(widget, { ...scoresTraits(scores), ...more });
    expect(pointsAt(el, one(name))).toBe(true);
    model.set("token", -1);
    model.set("rollout", 2);
    await frame();
    expect(pointsAt(el, one(name))).toBeNull();
    model.set("token", 4);
    await frame();
    expect(pointsAt(el, one(name))).toBe(true);
  }
});

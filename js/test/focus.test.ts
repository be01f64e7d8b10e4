import { describe, expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import type { Cells } from "../src/model/contract";
import alignmentView from "../src/widgets/alignment_view";
import compare from "../src/widgets/compare";
import explorer from "../src/widgets/explorer";
import { alignment, CHOSEN, places, wideNode } from "./alignment_made";
import { frame, scoresTraits, shown } from "./shown";

/** Scores whose second rollout shows its first two tokens in one cell. */
function sharedCell() {
  const scores = makeScores();
  const cells = scores.meta.rollouts[1].cells as Cells;
  const [a, b, ...rest] = cells.texts;
  scores.meta.rollouts[1].cells = {
    starts: [0, ...cells.starts.slice(2)],
    texts: [a + b, ...rest],
    kinds: `t${cells.kinds.slice(2)}`,
  };
  return scores;
}

const showAlignment = (change: Record<string, unknown> = {}) =>
  shown(alignmentView, { places: places(), alignment: alignment(), ...CHOSEN, ...change });
const here = (): string | null | undefined => document.activeElement?.textContent;

describe("the focus stays where it was pressed", () => {
  it("on a part of a cell, and on the likeliest tokens", async () => {
    const { all, one, click, model } = await shown(explorer, { ...scoresTraits(sharedCell()), token: 0 });
    const parts = (): HTMLElement[] => all(".opd-parts button");
    expect(parts()).toHaveLength(2);
    await click(parts()[1]);
    expect(model.get("token")).toBe(1);
    expect(document.activeElement).toBe(parts()[1]);
    // On to a token for which the two sides rank more than a few.
    model.set("teacher", "Self + wrong");
    for (let token = 2; !one(".opd-top-box button"); token++) {
      model.set("token", token);
      await frame();
    }
    await click(one(".opd-top-box button"));
    expect(here()).toBe("show fewer");
    await click(one(".opd-top-box button"));
    expect(here()).toMatch(/^show all/);
  });

  it("on all candidates, and on a teacher of the gradients", async () => {
    const node = { node: 0, rollout: "q/0", token: 0, alignment: wideNode(Array(9).fill(0.1)) };
    const { all, one, click, model } = await showAlignment(node);
    await click(one(".opd-a-candidates ~ button"));
    expect(here()).toBe("show fewer");
    await click(all(".opd-a-gradients button")[1]);
    expect(model.get("teacher")).toBe("B");
    expect(document.activeElement).toBe(all(".opd-a-gradients button")[1]);
  });

  it("on the teachers and rollouts that are compared", async () => {
    const scores = makeScores();
    scores.meta.generation = 7;
    const [a, b] = scores.meta.teachers.map((t) => t.name);
    const steps = { generation: 7, first: null, others: [], limits: {} };
    const more = { teacher: a, compared: [a, b], across: "teachers", step: 0, limits: {}, steps };
    const { all, one, click, model } = await shown(compare, { ...scoresTraits(scores), ...more });
    await click(one(".opd-compare-others button"));
    expect(model.get("compared")).toHaveLength(3);
    expect(document.activeElement).toBe(one(".opd-compare-others button"));
    model.set("across", "rollouts");
    await frame();
    await click(all(".opd-compare-pick button")[0]);
    expect(document.activeElement).toBe(all(".opd-compare-pick button")[0]);
  });

  it("on a button that leads no further, which then does nothing", async () => {
    const { one, all, click, model } = await shown(explorer, scoresTraits());
    const [next, back] = all(".opd-jump .opd-button");
    expect(back.getAttribute("aria-disabled")).toBe("true");
    await click(back);
    expect(model.get("token")).toBe(-1);
    await click(next);
    expect(one(".opd-jump-text").textContent).toMatch(/^largest/);
    await click(next);
    await click(back);
    expect(document.activeElement).toBe(back);
    expect(back.getAttribute("aria-disabled")).toBe("true");
  });

  it("on the step to the last question", async () => {
    const { all, click, model } = await showAlignment();
    const after = all(".opd-question-switch button")[1];
    await click(after);
    expect(model.get("question")).toBe("r");
    expect(after.getAttribute("aria-disabled")).toBe("true");
    expect(document.activeElement).toBe(after);
    await click(after);
    expect(model.get("question")).toBe("r");
  });
});

describe("Escape", () => {
  it("leads from a field into the widget, where keys go on working", async () => {
    const { el, one, press, model } = await shown(explorer, scoresTraits());
    one(".opd-find").focus();
    await press("Escape", one(".opd-find"));
    const root = el.firstElementChild as HTMLElement;
    expect(document.activeElement).toBe(root);
    await press("2", root);
    expect(model.get("teacher")).toBe("Self + solution");
    root.blur();
    expect(root.hasAttribute("tabindex")).toBe(false);
    one(".opd-text-find").focus();
    await press("Escape", one(".opd-text-find"));
    expect(document.activeElement).toBe(one(".opd-strip"));
  });

  it("closes the help panel, and is the host's while that is closed", async () => {
    for (const { one, press } of [await shown(explorer, scoresTraits()), await showAlignment()]) {
      expect(await press("Escape", one(".opd-strip"))).toBe(false);
      expect(await press("?", one(".opd-strip"))).toBe(true);
      expect(one(".opd-help").hidden).toBe(false);
      expect(await press("Escape", one(".opd-strip"))).toBe(true);
      expect(one(".opd-help").hidden).toBe(true);
    }
  });
});

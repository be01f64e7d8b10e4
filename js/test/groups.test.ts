import { afterEach, describe, expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { groupsOf, withGroups } from "../dev/fixture_groups";
import { groupedValueAt, groupOf, once, spread } from "../src/core/groups";
import { staticModel } from "../src/host/static_model";
import { Dataset } from "../src/model/dataset";
import { sentence } from "../src/view/announce";
import { series, sizes } from "../src/view/series";
import type { ViewState } from "../src/view/state";
import explorer from "../src/widgets/explorer";

const NAN = Number.NaN;
const GROUPS = [0, 0, -1, 1, 2, 2];
const VALUES = [NAN, -3, NAN, 5, NAN, 8];

describe("groups of tokens", () => {
  it("give every token its group's value, and none to what has no counterpart", () => {
    expect([...spread(VALUES, GROUPS)]).toEqual([-3, -3, NAN, 5, 8, 8]);
    expect([...spread([NAN, Number.NEGATIVE_INFINITY], [0, 0])]).toEqual([
      Number.NEGATIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
    expect([...spread([NAN, NAN], [0, 0])]).toEqual([NAN, NAN]);
    expect([...spread([], [])]).toEqual([]);
  });

  it("are drawn once", () => {
    expect([...once(VALUES, GROUPS)]).toEqual([0, -3, NAN, 5, 0, 8]);
  });

  it("have a first and a last token", () => {
    expect([0, 1, 2, 3, 5].map((token) => groupOf(GROUPS, token))).toEqual([[0, 2], [0, 2], null, [3, 4], [4, 6]]);
    expect(groupOf(GROUPS, -1)).toBeNull();
  });

  it("count once in a cell, and one gap makes the whole missing", () => {
    const at = (from: number, to: number): number => groupedValueAt(VALUES, GROUPS, [from, to], "sum");
    expect([at(0, 2), at(3, 6), at(4, 6), at(1, 2), at(1, 4)]).toEqual([-3, 13, 8, -3, NAN]);
  });
});

const OTHER = "Other style";
const scores = withGroups(makeScores(), OTHER);
const data = Dataset.read(scores, null);

function stateAt(token: number, teacher = OTHER, signal = "advantage"): ViewState {
  const job = { state: "none", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" } as const;
  const record = data.rollout(1);
  const tops = { at: () => ({ state: "absent" }) as const };
  return { data, tops, job, rollout: 1, token, teacher, signal, record, scale: data.signal(signal)! };
}

describe("a teacher of another tokenizer", () => {
  it("has groups for its own signals alone", () => {
    expect([...data.groups(1, "advantage", OTHER)!]).toEqual(groupsOf(scores, OTHER, 1));
    expect(data.groups(1, "advantage", "Teacher 0.5M")).toBeNull();
    expect(data.groups(1, "student_entropy", OTHER)).toBeNull();
  });

  it("counts a group once in a mean", () => {
    const whole = [...data.values(1, "advantage", OTHER)!].filter((v) => !Number.isNaN(v));
    const { mean, finite } = data.stats(1, "advantage", OTHER);
    expect(finite).toBe(new Set(groupsOf(scores, OTHER, 1).filter((g) => g >= 0)).size);
    expect(mean).toBeCloseTo(whole.reduce((sum, v) => sum + v, 0) / finite, 5);
  });

  it("colours the cells of a group alike, and leads to each group once", () => {
    const { value, colour, incomparable, leader } = series(stateAt(0));
    expect(value(0)).toBe(value(1));
    expect(colour(0)).toBe(colour(1));
    expect([incomparable(1), incomparable(2)]).toEqual([false, true]);
    expect(colour(2)).toBe("opd-v-apart");
    expect([0, 1, 2, 3, 4].map(leader)).toEqual([0, 0, 2, 3, 3]);
    const places = [...sizes(stateAt(0))].flatMap((size, cell) => (Number.isNaN(size) ? [] : [cell]));
    expect(places.length).toBeGreaterThan(3);
    expect(places.every((cell) => cell % 3 === 0)).toBe(true);
    expect(series(stateAt(0, "Teacher 0.5M")).colour(2)).not.toBe("opd-v-apart");
  });

  it("is told to a screen reader", () => {
    expect(sentence(stateAt(2))).toContain("advantage not comparable, Other style");
    expect(sentence(stateAt(0))).toMatch(/nats.*, Other style, for a group of 2 tokens$/);
    expect(sentence(stateAt(2, "Teacher 0.5M"))).not.toContain("comparable");
    expect(sentence(stateAt(2, OTHER, "student_entropy"))).not.toContain("group");
  });

  it("has one value at all tokens of a group, and says what is missing", () => {
    expect(data.value(1, "advantage", OTHER, 0)).toBe(data.value(1, "advantage", OTHER, 1));
    expect(data.value(1, "advantage", OTHER, 2)).toBeNaN();
    expect(data.lack(1, "advantage", OTHER, 2)).toBe("not comparable");
    expect(data.lack(1, "advantage", "Teacher 0.5M", 2)).toBe("not scored");
    expect(data.lack(1, "no such signal", "Teacher 0.5M", 2)).toBe("not available");
  });
});

const frame = (): Promise<void> =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
  document.body.replaceChildren();
});

async function show(change: Record<string, unknown>) {
  const el = document.body.appendChild(document.createElement("div"));
  const job = { state: "idle", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" };
  const model = staticModel({
    scores,
    live: { entries: [], vocab: {} },
    job,
    rollout: 1,
    token: -1,
    teacher: OTHER,
    signal: "advantage",
    ...change,
  });
  const definition = explorer as unknown as { render(props: object): () => void };
  open.push(definition.render({ model, el, signal: new AbortController().signal, host: {}, experimental: {} }));
  await frame();
  const all = (selector: string): HTMLElement[] => [...el.querySelectorAll<HTMLElement>(selector)];
  return { el, model, all, one: (selector: string): HTMLElement => all(selector)[0] };
}

describe("in the view", () => {
  it("hatches what is not comparable, also in the row of that teacher, and says so in the legend", async () => {
    const { all, one, model } = await show({});
    const hatched = (selector: string): number[] =>
      all(selector).flatMap((cell, i) => (cell.classList.contains("opd-v-apart") ? [i] : []));
    const gaps = groupsOf(scores, OTHER, 1).flatMap((g, i) => (g < 0 ? [i] : []));
    expect(hatched(".opd-strip .opd-cell")).toEqual(gaps);
    expect(hatched(`[data-teacher-row="${OTHER}"] .opd-cell`)).toEqual(gaps);
    expect(hatched('[data-teacher-row="Teacher 0.5M"] .opd-cell')).toEqual([]);
    expect(one(".opd-legend-key").textContent).toBe(" not comparable");
    model.set("teacher", "Teacher 0.5M");
    await frame();
    expect(hatched(".opd-strip .opd-cell")).toEqual([]);
    expect(one(".opd-legend-key").hidden).toBe(true);
  });

  it("explains a group in the panel, as text", async () => {
    const { one, all, model } = await show({ token: 1 });
    expect(one(".opd-comparison").textContent).toContain(
      "compared as a group of 2 student tokens and 3 teacher tokens",
    );
    const theirs = [...all(".opd-comparison-side")[1].querySelectorAll(".opd-cell")].map((c) => c.textContent);
    expect(theirs).toEqual(["<b>0</b>", "x", "y"]);
    expect(all(".opd-comparison b")).toEqual([]);
    expect(all(".opd-top thead th")).toHaveLength(1);
    expect(one(".opd-standing").textContent).not.toContain(OTHER);
    model.set("token", 2);
    await frame();
    expect(one(".opd-not-comparable").textContent).toBe("not comparable");
    expect(one('[data-row="advantage"] .opd-figure').textContent).toBe("not comparable");
    expect(one(".opd-jump-text").textContent).toBe(`not comparable with ${OTHER}: not ranked`);
    model.set("teacher", "Teacher 0.5M");
    await frame();
    expect(all(".opd-comparison")).toEqual([]);
  });

  it("marks what the selected token is compared together with", async () => {
    const { all, model } = await show({ token: 1 });
    const strip = all(".opd-strip .opd-cell");
    const marked = (): number[] => strip.flatMap((cell, i) => (cell.hasAttribute("data-with") ? [i] : []));
    expect(marked()).toEqual([0]);
    model.set("token", 3);
    await frame();
    expect(marked()).toEqual([4]);
    model.set("token", 2);
    await frame();
    expect(marked()).toEqual([]);
    model.set("token", 3);
    model.set("teacher", "Teacher 0.5M");
    await frame();
    expect(marked()).toEqual([]);
  });

  it("keeps the place in the order from any token of a group", async () => {
    const { one, model } = await show({ token: 0 });
    const said = one(".opd-jump-text").textContent;
    model.set("token", 1);
    await frame();
    expect(one(".opd-jump-text").textContent).toBe(said);
    expect(said).toMatch(/largest|noise/);
  });
});

import { afterEach, describe, expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { staticModel } from "../src/host/static_model";
import type { RolloutMeta, ScoresTrait } from "../src/model/contract";
import { firstShown, ofQuestion } from "../src/view/compare/columns";
import { placed } from "../src/view/compare/pair";
import widget from "../src/widgets/compare";

const frame = (): Promise<void> =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
  document.body.replaceChildren();
});

/** Another checkpoint: all values `by` higher. */
function shifted(scores: ScoresTrait, by: number): DataView {
  const { buffer, byteOffset, byteLength } = scores.values;
  const values = new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer).map((v) => v + by);
  return new DataView(values.buffer);
}

async function show(change: Record<string, unknown> = {}, steps: number[] = []) {
  const el = document.body.appendChild(document.createElement("div"));
  const scores = makeScores();
  scores.meta.generation = 7;
  const [a, b] = scores.meta.teachers.map((t) => t.name);
  const model = staticModel({
    scores,
    rollout: 1,
    token: -1,
    teacher: a,
    signal: "advantage",
    across: "teachers",
    compared: [a, b],
    step: steps[0] ?? 0,
    limits: {},
    steps: {
      generation: 7,
      first: steps.length > 0 ? 100 : null,
      others: steps.map((step, i) => ({ step, values: shifted(scores, i + 1) })),
      limits: {},
    },
    ...change,
  });
  const life = new AbortController();
  const definition = widget as unknown as { render(props: object): () => void };
  open.push(definition.render({ model, el, signal: life.signal, host: {}, experimental: {} }));
  await frame();
  const all = (selector: string): HTMLElement[] => [...el.querySelectorAll<HTMLElement>(selector)];
  const one = (selector: string): HTMLElement => el.querySelector<HTMLElement>(selector)!;
  const click = async (selector: string): Promise<void> => {
    one(selector).click();
    await frame();
  };
  return { el, model, scores, life, all, one, click, a, b };
}

describe("Compare", () => {
  it("shows every line once a teacher, the same cells in each, and the difference under them", async () => {
    const { all, one, a, b, scores } = await show({ token: 3 });
    const rows = all('.opd-aligned-line[data-line="0"] .opd-aligned-row');
    expect(rows.map((row) => row.querySelector(".opd-aligned-name")!.textContent)).toEqual([a, b, "difference"]);
    const cells = rows.map((row) => [...row.querySelectorAll<HTMLElement>("[data-cell]")].map((n) => n.dataset.cell));
    expect(cells[1]).toEqual(cells[0]);
    expect(cells[2]).toEqual(cells[0]);
    expect(all('.opd-aligned [aria-selected="true"]').length).toBe(1);
    expect(all(".opd-aligned [data-selected]").length).toBe(3);
    expect(all("[data-value]").map((node) => node.dataset.value)).toEqual([a, b, "difference"]);
    expect(all(".opd-multiple").length).toBe(scores.meta.teachers.length);
    expect(one('.opd-aligned-row[data-current="true"], .opd-aligned-row[data-current=""]').dataset.track).toBe("0");
  });

  it("keeps a pinned end when teacher, rollout or signal change, and fits again only when asked", async () => {
    const { model, one, click, all, b } = await show();
    const limit = (): string => (one(".opd-main > .opd-compare-scale .opd-compare-limit") as HTMLInputElement).value;
    const fitted = limit();
    const input = one(".opd-main > .opd-compare-scale .opd-compare-limit") as HTMLInputElement;
    input.value = "0.125";
    input.dispatchEvent(new Event("change"));
    await frame();
    expect(model.get("limits")).toEqual({ advantage: 0.125 });
    for (const [name, value] of [
      ["teacher", b],
      ["rollout", 3],
      ["signal", "student_entropy"],
    ] as const) {
      model.set(name, value);
      await frame();
    }
    expect(limit()).not.toBe("0.125");
    model.set("signal", "advantage");
    await frame();
    expect(limit()).toBe("0.125");
    expect(all(".opd-main > .opd-compare-scale .opd-legend-number").map((n) => n.textContent!.slice(-4))).toEqual([
      "0.13",
      "0.13",
    ]);
    await click('.opd-main > .opd-compare-scale [data-scale="all"]');
    expect(model.get("limits")).toEqual({});
    expect(limit()).toBe(fitted);
    input.value = "-1";
    input.dispatchEvent(new Event("change"));
    await frame();
    expect([model.get("limits"), input.value]).toEqual([{}, fitted]);
  });

  it("pins a share at the whole, however little of it is in view", async () => {
    const scores = makeScores();
    const share = scores.meta.signals.find((s) => s.unit === "share" && s.available)!;
    const little = new Float32Array(scores.meta.planes.length * scores.meta.tokens).fill(0.1);
    const { model, click } = await show({
      signal: share.name,
      scores: { ...scores, values: new DataView(little.buffer) },
    });
    await click('.opd-main > .opd-compare-scale [data-scale="this"]');
    expect(model.get("limits")).toEqual({ [share.name]: 1 });
  });

  it("pins the end to what is in view, and the difference has its own", async () => {
    const { model, click } = await show();
    await click('.opd-compare-body .opd-compare-scale [data-scale="this"]');
    expect(Object.keys(model.get("limits") as object)).toEqual(["advantage difference"]);
  });

  it("lays rollouts of the question side by side and follows the selection", async () => {
    const { model, all, scores } = await show({ across: "rollouts", token: 0 });
    const { question } = scores.meta.rollouts[1];
    const columns = all(".opd-compare-column");
    expect(columns.length).toBeGreaterThan(1);
    expect(all(".opd-compare-column[data-current]").length).toBe(1);
    expect(all(".opd-compare-column .opd-strip").length).toBe(columns.length);
    expect(all("[data-kept]").length).toBe(scores.meta.rollouts.filter((r) => r.question === question).length);
    const before = columns.length;
    all('[data-kept][aria-pressed="true"]')[0].click();
    await frame();
    expect(all(".opd-compare-column").length).toBe(before - 1);
    const other = scores.meta.rollouts.findIndex((r) => r.question !== question);
    model.set("rollout", other);
    await frame();
    expect(all("[data-kept]").length).toBe(
      scores.meta.rollouts.filter((r) => r.question === scores.meta.rollouts[other].question).length,
    );
  });

  it("shows a row a step, a map of all, and the selected token's line; a step is chosen in the menu", async () => {
    const { model, all, one } = await show({ across: "steps", token: 2, step: 300 }, [200, 300]);
    const names = all('.opd-aligned-line[data-line="0"] .opd-aligned-name').map((node) => node.textContent);
    expect(names).toEqual(["step 100", "step 200", "step 300", "difference"]);
    expect(one('[data-value="difference"]').textContent).toContain("+2.00");
    expect(all(".opd-line-point").length).toBe(3);
    expect(all(".opd-heat-labels [data-step]").length).toBe(3);
    const menu = one('[aria-label="Step"]') as HTMLSelectElement;
    menu.value = "200";
    menu.dispatchEvent(new Event("change"));
    await frame();
    expect(model.get("step")).toBe(200);
    expect(one('[data-value="difference"]').textContent).toContain("+1.00");
  });

  it("leaves steps of other scores alone", async () => {
    const others = [{ step: 2, values: new DataView(new ArrayBuffer(0)) }];
    const { one } = await show({ across: "steps", steps: { generation: 6, first: 1, others, limits: {} } });
    expect(one(".opd-compare-body").dataset.layout).toBe("teachers");
    expect(one('[data-layout="steps"].opd-segment').getAttribute("aria-disabled")).toBe("true");
  });
});

describe("what stands beside what", () => {
  it("swaps teachers rather than showing one twice", () => {
    expect(placed(["a", "b", "c"], "b", 0)).toEqual(["b", "a", "c"]);
    expect(placed(["a", "b"], "d", 1)).toEqual(["a", "d"]);
  });

  it("takes correct and incorrect by turns, with the selected one among them", () => {
    const rollouts = ["correct", "correct", "correct", "incorrect", "incorrect", "unknown"].map((outcome) => ({
      question: "q",
      outcome,
    })) as unknown as RolloutMeta[];
    const group = ofQuestion(rollouts, 0);
    expect(group).toEqual([0, 1, 2, 3, 4, 5]);
    expect(firstShown(rollouts, group, 0)).toEqual([0, 3, 1, 4]);
    expect(firstShown(rollouts, group, 5)).toEqual([0, 3, 1, 5]);
    expect(ofQuestion([{ ...rollouts[0], question: "" }, rollouts[1]], 0)).toEqual([0]);
  });
});

import { describe, expect, it } from "vitest";
import { markClass, standing } from "../src/core/node_mark";
import { CORNERS, direction, HEIGHT, project, unit } from "../src/core/simplex";
import { staticModel } from "../src/host/static_model";
import type { DiagnosisSelection } from "../src/model/diagnosis_contract";
import { Places } from "../src/model/places";
import { inWords } from "../src/view/alignment/simplex";
import widget from "../src/widgets/alignment_view";
import { DiagnosisSource } from "../src/widgets/diagnosis_source";
import { alignment, CHOSEN, floats, NOT, places, view, wideNode } from "./alignment_made";
import { frame, shown } from "./shown";

describe("the simplex", () => {
  it("puts each token at a corner and their mean in the middle", () => {
    expect(project([1, 0, 0])).toEqual(CORNERS[0]);
    expect(project([0, 0, 1])).toEqual(CORNERS[2]);
    const [x, y] = project([1 / 3, 1 / 3, 1 / 3]);
    expect(x).toBeCloseTo(0.5);
    expect(y).toBeCloseTo((2 / 3) * HEIGHT);
  });

  it("keeps the angle of any two gradients: its cosine is the alignment", () => {
    const u = [0.3, -0.1, -0.2] as const;
    const v = [-0.05, 0.25, -0.2] as const;
    const dot = u.reduce((sum, x, i) => sum + x * v[i], 0);
    const cosine = dot / (Math.hypot(...u) * Math.hypot(...v));
    const [a, b] = [direction(u)!, direction(v)!];
    expect(a[0] * b[0] + a[1] * b[1]).toBeCloseTo(cosine, 12);
    expect(Math.hypot(...a)).toBeCloseTo(1, 12);
  });

  it("points straight up for the first token against both others, and nowhere for nothing", () => {
    const up = direction([2, -1, -1])!;
    expect(up[0]).toBeCloseTo(0);
    expect(up[1]).toBeCloseTo(-1);
    expect(direction([0, 0, 0])).toBeNull();
    expect(direction([NOT, NOT, NOT])).toBeNull();
  });

  it("draws rows at length 1, and leaves what has none", () => {
    expect(unit([3, -4])).toEqual([0.6, -0.8]);
    expect(unit([0, 0])).toEqual([0, 0]);
  });

  it("says in words what an arrow does", () => {
    expect(inWords("ideal", [0.2, -0.1, -0.1], ["a", "b", "c"])).toBe("ideal: raises a; lowers b, c");
    expect(inWords("A", [NOT, 0], ["a", "b"])).toBe("A: undefined");
    expect(inWords("A", [0, 0], ["a", "b"])).toBe("A: changes nothing");
  });
});

describe("how a token is drawn", () => {
  const score = (verdict: string, low = NOT, high = NOT) => ({ verdict, alignment: 1, low, high });

  it("tells six standings apart", () => {
    const scores = [
      null,
      score("", 0.2, 1),
      score("", -1, 1),
      score("no signal"),
      score("points outside the support"),
      score("not enough visits"),
    ];
    expect(scores.map(standing)).toEqual(["unscored", "scored", "open", "silent", "outside", "few"]);
    expect(new Set(scores.map(markClass)).size).toBe(6);
  });

  it("counts an interval that ends at 0 as open", () => {
    expect(standing(score("", 0, 1))).toBe("open");
    expect(standing(score("", -1, -0.01))).toBe("scored");
  });
});

describe("what is selected together", () => {
  const source = new DiagnosisSource(staticModel({ places: places() }) as never, (place) => place);
  const complete = (change: Partial<DiagnosisSelection>, from: Partial<DiagnosisSelection> = {}) =>
    source.complete(change, source.state({ ...CHOSEN, ...from }));

  it("brings a node's token and a token's node", () => {
    expect(complete({ node: 1 })).toMatchObject({ question: "q", rollout: "q/0", token: 1, node: 1 });
    expect(complete({ token: 2 })).toMatchObject({ rollout: "q/0", token: 2, node: -1 });
    expect(complete({ token: 1 }, { rollout: "q/4" })).toMatchObject({ rollout: "q/4", node: 1 });
  });

  it("stays with a rollout that passes, and keeps the token that another has too", () => {
    expect(complete({ node: 1 }, { rollout: "q/4" })).toMatchObject({ rollout: "q/4", token: 1 });
    expect(complete({ rollout: "q/4" }, { rollout: "q/0", token: 1, node: 1 })).toMatchObject({ token: 1, node: 1 });
    expect(complete({ rollout: "q/4" }, { rollout: "q/0", token: 2 })).toMatchObject({ token: -1, node: -1 });
  });

  it("says of a node that only targeted rollouts pass no token", () => {
    expect(complete({ node: 2 }, { rollout: "q/4" })).toMatchObject({ node: 2, token: -1, rollout: "q/4" });
  });

  it("begins another question at its first rollout", () => {
    expect(complete({ question: "r" }, { rollout: "q/0", token: 1, node: 1 })).toEqual({
      question: "r",
      rollout: "r/0",
      token: -1,
      node: -1,
    });
  });

  it("takes a whole place as it is said", () => {
    const said = { question: "q", rollout: "q/7", token: 1, node: 2 };
    expect(complete(said)).toEqual(said);
  });

  it("follows a shared place as far as it is there", () => {
    const shared = { question: "q", rollout: null, token: null, node: null, teacher: null, signal: null };
    source.state(CHOSEN);
    expect(source.fromShared({ ...shared, node: 1, teacher: "B" })).toMatchObject({
      rollout: "q/0",
      token: 1,
      teacher: "B",
    });
    expect(source.fromShared({ ...shared, rollout: "q/4", token: 0 })).toMatchObject({ rollout: "q/4", node: 0 });
    expect(source.fromShared({ ...shared, rollout: "q/7", token: 1 })).toMatchObject({ rollout: "q/7", token: 1 });
    expect(source.fromShared({ ...shared, rollout: "elsewhere" })).toEqual({ question: "q" });
    expect(source.fromShared({ ...shared, question: "no", teacher: "C" })).toEqual({});
  });

  it("names a place for the others only where it changed", () => {
    const whole = { ...CHOSEN, rollout: "q/0", token: 1, node: 1 };
    expect(source.toShared({ teacher: "B" }, whole)).toEqual({ teacher: "B" });
    expect(source.toShared({ token: 1 }, whole)).toEqual({ question: "q", rollout: "q/0", token: 1, node: 1 });
    expect(source.toShared({ token: -1 }, CHOSEN)).toEqual({ question: "q", rollout: null, token: null, node: null });
  });
});

describe("places", () => {
  it("refuses a buffer that does not fit, naming it", () => {
    expect(() => new Places({ ...places(), node_at: floats(1) })).toThrow(/node_at: 4 bytes found, 24 expected/);
  });
});

async function show(change: Record<string, unknown> = {}) {
  const found = await shown(widget, { places: places(), alignment: alignment(), ...CHOSEN, ...change });
  return { ...found, press: (key: string) => found.press(key, found.one(".opd-strip")) };
}

describe("the AlignmentView", () => {
  const drawn = (all: (selector: string) => HTMLElement[]): string[] =>
    all(".opd-strip [data-cell]").map((node) => node.className.split(" ").slice(2).join(" "));

  it("draws every token by its node under the teacher", async () => {
    const { all, press } = await show();
    expect(drawn(all)).toEqual(["opd-v-n12", "opd-a-silent", "opd-a-unscored"]);
    await press("2");
    expect(drawn(all)).toEqual(["opd-v-p12 opd-a-open", "opd-a-outside", "opd-a-unscored"]);
    expect(all(".opd-a-key").map((key) => key.textContent?.slice(1))).toEqual([
      "interval holds 0",
      "points outside the support",
      "not scored",
    ]);
  });

  it.each([
    ["places", "alignment"],
    ["alignment", "places"],
  ])("shows the last diagnosis until both traits of another have come: %s first", async (first, second) => {
    const { model, all, el } = await show();
    const before = drawn(all);
    // Of it the question without nodes, under one teacher.
    const [old, whole] = [places(), alignment()];
    const meta = { ...old.meta, questions: [old.meta.questions[1]], teachers: [old.meta.teachers[0]] };
    const none = view(new Uint8Array(0));
    const next: Record<string, unknown> = {
      places: { ...old, meta },
      alignment: {
        meta: {
          ...whole.meta,
          questions: [whole.meta.questions[1]],
          intervals: [],
          nodes: 0,
          candidates: 0,
          teachers: 1,
        },
        node_values: none,
        node_counts: none,
        verdict: none,
        candidate_start: view(new Uint32Array(1)),
        candidate_ids: none,
        candidate_values: none,
        candidate_by_teacher: none,
        in_support: none,
        summary: none,
        summary_counts: none,
      },
    };
    model.set(first, next[first]);
    await frame();
    expect(drawn(all)).toEqual(before);
    expect(el.querySelector<HTMLElement>(".opd-empty")?.hidden).toBe(true);
    model.set(second, next[second]);
    await frame();
    expect(drawn(all)).toEqual(["opd-a-unscored"]);
  });

  it("shows the worked node: the ideal gradient raises what the teacher lowers", async () => {
    const { one, all } = await show({ node: 0, rollout: "q/0", token: 0 });
    expect(one(".opd-a-verdict").textContent).toBe("A points against the ideal gradient here.");
    expect(all(".opd-a-facts tr")[0].textContent).toBe("alignment−1.00−1.00 to −1.00");
    const figures = all(".opd-a-candidates tbody tr").map((row) =>
      [...(row as HTMLTableRowElement).cells].slice(2).map((cell) => cell.textContent),
    );
    expect(figures).toEqual([
      ["1.00", "4", "0.750", "0.500"],
      ["0.00", "1", "0.250", "0.500"],
    ]);
    const gradient = (name: string): (string | null)[] =>
      [...one(`.opd-a-gradients [data-row="${name}"]`).querySelectorAll(".opd-g")].map((n) =>
        n.getAttribute("aria-label"),
      );
    expect(gradient("ideal")).toEqual(["+0.1875", "−0.1875"]);
    expect(gradient("A")).toEqual(["−0.2060", "+0.2060"]);
    expect(one(".opd-s").getAttribute("aria-label")).toContain(
      "ideal: raises <i>x</i>; lowers y. A: raises y; lowers <i>x</i>",
    );
  });

  it("draws a row at its length over the whole support, also where not all of it is drawn", async () => {
    const gradient = Array.from({ length: 13 }, (_, i) => (i === 0 ? 0.3 : i === 12 ? -0.4 : 0));
    const { one, all } = await show({ node: 0, rollout: "q/0", token: 0, alignment: wideNode(gradient) });
    const bars = all('.opd-a-gradients [data-row="ideal"] .opd-g');
    expect(bars).toHaveLength(12);
    // 0.3 of a length of 0.5, where a whole bar takes 46 percent of a cell.
    expect(bars[0].style.getPropertyValue("--opd-bar-size")).toBe("27.6%");
    expect(one(".opd-a-scroll").textContent).toContain("The 12 likeliest of 13 tokens are drawn.");
  });

  it("keeps the selected token where none has an alignment", async () => {
    const { model, press } = await show({ question: "r", rollout: "r/0", token: 0 });
    for (const key of ["n", "p", "v", "V"]) {
      await press(key);
      expect(model.get("token"), key).toBe(0);
    }
  });

  it("selects by key: nodes with an alignment, rollouts, questions", async () => {
    const { model, press, one } = await show();
    await press("v");
    expect([model.get("rollout"), model.get("token"), model.get("node")]).toEqual(["q/0", 0, 0]);
    await press("v");
    expect(model.get("token")).toBe(0);
    await press("ArrowRight");
    expect([model.get("token"), model.get("node")]).toEqual([1, 1]);
    expect(one(".opd-a-verdict").textContent).toContain("No signal");
    await press("j");
    expect([model.get("rollout"), model.get("node")]).toEqual(["q/4", 1]);
    await press("]");
    expect([model.get("question"), model.get("rollout"), model.get("node")]).toEqual(["r", "r/0", -1]);
  });

  it("selects the teacher by its mean", async () => {
    const { model, one } = await show();
    one('.opd-a-summary [data-row="B"] td').click();
    await frame();
    expect(model.get("teacher")).toBe("B");
    expect(one(".opd-a-means .opd-a-note").textContent).toContain("B, all: mean cosine +0.40 (+0.20 to");
    expect(one(".opd-a-means .opd-a-note").textContent).toContain("90% intervals, over questions and posterior");
  });

  it("finds words in the text, and goes to a token by its number", async () => {
    const { model, one, all, press } = await show();
    await press("f");
    const needle = one(".opd-text-find") as HTMLInputElement;
    expect(document.activeElement).toBe(needle);
    needle.value = "z";
    needle.dispatchEvent(new Event("input"));
    expect(all(".opd-strip [data-found]").map((cell) => cell.dataset.cell)).toEqual(["2"]);
    needle.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true }));
    expect(model.get("token"), "the word is not done").toBe(-1);
    needle.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect([model.get("rollout"), model.get("token")]).toEqual(["q/0", 2]);
    await press("g");
    const position = one(".opd-goto") as HTMLInputElement;
    expect(document.activeElement).toBe(position);
    position.value = "2";
    position.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect([model.get("token"), model.get("node")]).toEqual([1, 1]);
    await frame();
    needle.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    expect(all(".opd-strip [data-found]")).toEqual([]);
    expect(document.activeElement).toBe(one(".opd-strip"));
  });

  it("keeps rows and cells through a switch of teacher, in their own colours", async () => {
    const { all, press } = await show();
    const nodes = (): HTMLElement[] => [...all(".opd-row"), ...all(".opd-trow [data-cell]")];
    const sparks = (): (string | null)[] => all(".opd-spark .opd-plot-above").map((path) => path.getAttribute("d"));
    const [before, shapes] = [nodes(), sparks()];
    expect(all('.opd-trow[data-teacher-row="B"] [data-cell]').map((cell) => cell.className)).toEqual([
      "opd-cell opd-k-t opd-v-p12 opd-a-open",
      "opd-cell opd-k-t opd-a-outside",
      "opd-cell opd-k-t opd-a-unscored",
    ]);
    expect(all(".opd-trow").map((row) => row.getAttribute("aria-label"))).toEqual([
      "A: 0 along, 1 against, 0 open",
      "B: 0 along, 0 against, 1 open",
    ]);
    await press("2");
    expect(nodes().every((node, i) => node === before[i])).toBe(true);
    expect(sparks()).not.toEqual(shapes);
    expect(all('.opd-trow[aria-checked="true"]').map((row) => row.dataset.teacherRow)).toEqual(["B"]);
  });

  it("takes text for text", async () => {
    const { el, one } = await show({ node: 0, rollout: "q/0", token: 0 });
    expect(el.querySelector("i, b, script")).toBeNull();
    expect(one(".opd-notes").textContent).toBe("note <script>");
    expect(one(".opd-title-question").textContent).toBe("<b>q</b>");
  });
});

/** (−∞) − (−∞) is undefined and shown so; what has no log-probability was not scored. */
import { afterEach, describe, expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { groupsOf, withGroups } from "../dev/fixture_groups";
import { staticModel } from "../src/host/static_model";
import { float32 } from "../src/model/codec";
import type { ScoresTrait } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import { sentence } from "../src/view/announce";
import type { ViewState } from "../src/view/state";
import compare from "../src/widgets/compare";
import explorer from "../src/widgets/explorer";

const T = "Teacher 0.5M";
const OTHER = "Other style";
const WORDS = "undefined (∞ − ∞)";
const INF = Number.POSITIVE_INFINITY;
/** Of rollout 1, by token: −log p of student and teacher; all else was not scored. */
const SURPRISALS: Record<number, [number, number]> = { 3: [INF, INF], 4: [INF, 2], 5: [Number.NaN, INF] };

/** Scores with the surprisals of one teacher, and no advantage at the tokens named. */
function withSurprisals(trait: ScoresTrait, teacher: string): ScoresTrait {
  const { meta } = trait;
  const planes = [
    ...meta.planes,
    { signal: "student_surprisal", teacher: null },
    { signal: "teacher_surprisal", teacher },
  ];
  const own = meta.signals[0];
  const signals = [
    ...meta.signals,
    { ...own, name: "student_surprisal", per_teacher: false },
    { ...own, name: "teacher_surprisal" },
  ];
  const values = new Float32Array(planes.length * meta.tokens).fill(Number.NaN);
  values.set(float32(trait.values, meta.planes.length * meta.tokens, "values"));
  const advantage = meta.planes.findIndex((p) => p.signal === "advantage" && p.teacher === teacher);
  const { offset } = meta.rollouts[1];
  for (const [token, sides] of Object.entries(SURPRISALS)) {
    const at = offset + Number(token);
    values[advantage * meta.tokens + at] = Number.NaN;
    sides.forEach((side, i) => {
      values[(meta.planes.length + i) * meta.tokens + at] = side;
    });
  }
  return { ...trait, meta: { ...meta, planes, signals }, values: new DataView(values.buffer) };
}

const scores = withSurprisals(makeScores(), T);
const data = Dataset.read(scores, null);

function stateAt(token: number): ViewState {
  const job = { state: "none", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" } as const;
  const tops = { at: () => ({ state: "absent" }) as const };
  const [record, scale] = [data.rollout(1), data.signal("advantage")!];
  return { data, tops, job, rollout: 1, token, teacher: T, signal: "advantage", record, scale };
}

describe("why a value is missing", () => {
  it("is read from both log-probabilities", () => {
    const lack = (token: number, signal = "advantage"): string => data.lack(1, signal, T, token);
    expect([3, 4, 5, 6].map((token) => lack(token))).toEqual([WORDS, "undefined", "not scored", "not scored"]);
    // A divergence is not made of the sampled token's two.
    expect(lack(3, "reverse_kl")).toBe("not scored");
  });

  it("is read over a whole group", () => {
    const grouped = withGroups(withSurprisals(makeScores(), OTHER), OTHER);
    expect(groupsOf(grouped, OTHER, 1).slice(3, 5)).toEqual([1, 1]);
    // Tokens 3 and 4 are one group: its surprisals are infinite on both sides.
    const found = Dataset.read(grouped, null);
    expect([3, 4].map((token) => found.lack(1, "advantage", OTHER, token))).toEqual([WORDS, WORDS]);
    expect(found.lack(1, "advantage", OTHER, 5)).toBe("not comparable");
  });

  it("is said to a screen reader", () => {
    expect(sentence(stateAt(3))).toContain(`advantage ${WORDS}, ${T}`);
    expect(sentence(stateAt(5))).toContain("advantage not scored");
  });
});

const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
  document.body.replaceChildren();
});

async function show(widget: unknown, change: Record<string, unknown> = {}): Promise<HTMLElement> {
  const el = document.body.appendChild(document.createElement("div"));
  const model = staticModel({
    scores,
    live: { entries: [], vocab: {} },
    rollout: 1,
    token: 3,
    teacher: T,
    signal: "advantage",
    ...change,
  });
  const { render } = widget as { render(props: object): () => void };
  open.push(render({ model, el, signal: new AbortController().signal, host: {}, experimental: {} }));
  await new Promise((done) => setTimeout(done, 50));
  return el;
}

it("is shown under the strip and in both tables", async () => {
  const el = await show(explorer);
  expect(el.querySelector(".opd-jump-text")!.textContent).toBe(`${WORDS}: not ranked`);
  for (const row of ['.opd-signal-values [data-row="advantage"]', `.opd-teacher-values [data-row="${T}"]`])
    expect(el.querySelector(`${row} .opd-missing`)!.textContent).toBe(WORDS);
});

it("is shown in a row of a comparison", async () => {
  const el = await show(compare, { across: "teachers", compared: [T, OTHER], step: 0, limits: {} });
  expect(el.querySelector(`[data-value="${T}"]`)!.textContent).toBe(WORDS);
});

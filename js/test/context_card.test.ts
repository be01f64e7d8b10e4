import { afterEach, describe, expect, it, vi } from "vitest";
import { makeScores, toCells } from "../dev/fixture";
import { liveModel } from "../dev/kernel";
import { onlyHere } from "../src/core/only_here";
import { staticModel } from "../src/host/static_model";
import type { ScoresTrait } from "../src/model/contract";
import { lineBefore } from "../src/view/explorer/prompts";
import { rowsOf } from "../src/view/field_height";
import explorer from "../src/widgets/explorer";

const JOB = { state: "idle", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" };
const SELF = "Self + solution";
const HOSTILE = "mode='<img src=x onerror=alert(1)>'";
const open: (() => void)[] = [];

async function show(scores: ScoresTrait, teacher = SELF, make: typeof staticModel = staticModel) {
  const el = document.body.appendChild(document.createElement("div"));
  const traits = { scores, live: { entries: [], vocab: {} }, job: JOB, rollout: 1, token: -1, teacher };
  const model = make({ ...traits, signal: "advantage" });
  const definition = explorer as { render(props: object): () => void };
  open.push(definition.render({ model, el, signal: new AbortController().signal, host: {}, experimental: {} }));
  await new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
  const one = (selector: string): HTMLElement => el.querySelector<HTMLElement>(selector)!;
  const texts = (selector: string): string[] => [...el.querySelectorAll(selector)].map((n) => n.textContent ?? "");
  return { el, one, texts, model, facts: texts(".opd-context-facts p") };
}

function withLeak(leaks: boolean | null | undefined): ScoresTrait {
  const scores = makeScores();
  scores.meta.rollouts[1].contexts[SELF].leaks = leaks;
  return scores;
}

afterEach(() => {
  for (const end of open.splice(0)) end();
  document.body.replaceChildren();
});

describe("context card", () => {
  it("says kind, what is seen, lengths and the limit", async () => {
    const scores = makeScores();
    const record = scores.meta.rollouts[1];
    const { one, facts } = await show(scores);
    expect(one(".opd-context-kind").textContent).toBe("Self + solution · one correct");
    const prompt = scores.meta.prompts[record.teacher_prompts[SELF]].tokens;
    const sum = prompt + record.length;
    expect(facts).toEqual([
      "student with a worked solution",
      `context ${record.contexts[SELF].tokens} tokens, not in the student’s prompt · ` +
        `prompt ${prompt} + response ${record.length} = ${sum} tokens, of 256 the model takes`,
    ]);
  });

  it("is there for a teacher without a context, and says its limit", async () => {
    const scores = makeScores();
    scores.meta.teachers[0].limit = null;
    const { one, facts } = await show(scores, "Teacher 0.5M");
    expect(one(".opd-context-text").hidden).toBe(true);
    expect(facts[1]).toMatch(/^prompt \d+ \+ response \d+ = \d+ tokens, limit not known$/);
  });

  it.each([
    [true, "leaks the answer", "yes"],
    [false, "does not hold the answer", "no"],
    [null, "answer not known", "unknown"],
  ])("flags a context: %s", async (leaks, text, state) => {
    const { one } = await show(withLeak(leaks));
    expect(one(".opd-context-leak").textContent).toBe(text);
    expect(one(".opd-context-leak").getAttribute("data-leak")).toBe(state);
  });

  it("claims nothing of a page from before", async () => {
    const { one } = await show(withLeak(undefined));
    expect(one(".opd-context-leak").hidden).toBe(true);
  });

  it("shows the chat template's arguments as text, of any teacher", async () => {
    const scores = makeScores();
    for (const teacher of scores.meta.teachers) teacher.arguments = ["enable_thinking=False", HOSTILE];
    for (const teacher of [SELF, "Teacher 0.5M"]) {
      const { el, facts } = await show(scores, teacher);
      expect(facts.at(-1)).toBe(`chat template: enable_thinking=False, ${HOSTILE}`);
      expect(el.querySelector("img")).toBeNull();
    }
  });
});

describe("facts of a context while another text stands below", () => {
  const live = (state: Record<string, unknown>) => liveModel(state, { delay: 5 });

  function type(field: HTMLElement, text: string): void {
    (field as HTMLTextAreaElement).value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  it("say that they are the scored one's, from the first key to a refusal, until it is taken back", async () => {
    const scores = withLeak(true);
    const { tokens } = scores.meta.rollouts[1].contexts[SELF];
    const { one, texts } = await show(scores, SELF, live);
    const badge = one(".opd-context-leak");
    type(one(".opd-context-text"), "x".repeat(300)); // the stand-in for Python refuses so long a text
    await vi.waitFor(() => expect(badge.textContent).toBe("scored context leaks the answer"));
    await vi.waitFor(() => expect(one(".opd-job-status").textContent).toContain("not scored"));
    expect(badge.textContent).toBe("scored context leaks the answer");
    expect(badge.hasAttribute("data-stale")).toBe(true);
    expect(one(".opd-context-facts").hasAttribute("data-stale")).toBe(true);
    expect(texts(".opd-context-facts p").join()).toContain(
      `scored context ${tokens} tokens, not in the student’s prompt`,
    );
    one(".opd-context-reset").click();
    await vi.waitFor(() => expect(badge.textContent).toBe("leaks the answer"));
    expect(one(".opd-context").querySelector("[data-stale]")).toBeNull();
    expect(texts(".opd-context-facts p").join()).not.toContain("scored");
  });

  it("are the new text's as soon as the rollout in view is scored under it", async () => {
    const { one, texts } = await show(withLeak(false), SELF, live);
    type(one(".opd-context-text"), "four");
    await vi.waitFor(() => expect(one(".opd-context-facts").hasAttribute("data-stale")).toBe(true));
    await vi.waitFor(() => expect(texts(".opd-context-facts p").join()).toContain(" · edited"), 3000);
    expect(texts(".opd-context-facts p").join()).toContain("context 4 tokens, not in the");
    expect(one(".opd-context").querySelector("[data-stale]")).toBeNull();
  });
});

describe("the context's field", () => {
  it.each([false, true])("is the reader's while they are in it, in a shadow root too: %s", async (shadow) => {
    const host = document.body.appendChild(document.createElement("div"));
    const within = shadow ? host.attachShadow({ mode: "open" }) : host;
    const { el, one, model } = await show(makeScores());
    within.append(el);
    const field = one(".opd-context-text") as HTMLTextAreaElement;
    const { value } = field;
    const changed = makeScores();
    changed.meta.rollouts[1].contexts[SELF].text = "from another view";
    const settled = (): Promise<void> => new Promise((done) => setTimeout(done, 50));
    field.focus();
    model.set("scores", changed);
    await settled();
    expect(field.value).toBe(value);
    field.blur();
    model.set("scores", { ...changed });
    await settled();
    expect(field.value).toBe("from another view");
  });

  it.each([
    ["", 10, 1],
    ["a\nb\n", 10, 3],
    ["one two three", 10, 2], // "one two " and "three"
    ["one two thr", 11, 1],
    ["x".repeat(25), 10, 3], // broken where it must be
    ["ab ".repeat(7), 10, 3], // three words a row: the last blank may hang over
  ])("takes rows for %j in %d columns: %d", (text, columns, expected) => {
    expect(rowsOf(text, columns)).toBe(expected);
  });
});

describe("a folded prompt", () => {
  it.each([
    [10, 0], // in the first line: none before it
    [30, 0],
    [41.5, 0],
    [42, 1],
    [210, 9],
  ])("shows from the line before the one at %d px", (height, expected) => {
    expect(lineBefore(height, 20.8)).toBe(expected);
  });
});

describe("both prompts", () => {
  function withPrompts(student: string[], teacher: string[], differs: [number, number] | null): ScoresTrait {
    const scores = makeScores();
    const { prompts, rollouts } = scores.meta;
    rollouts[1].prompt = prompts.push({ cells: toCells(student), tokens: student.length, differs: null }) - 1;
    rollouts[1].teacher_prompts[SELF] = prompts.push({ cells: toCells(teacher), tokens: teacher.length, differs }) - 1;
    return scores;
  }

  it("stand token by token, with what only one side sees marked on its own side", async () => {
    const { texts, el } = await show(withPrompts(["be", " good", "\n", "Q"], ["hint", "\n", "Q"], [0, 1]));
    expect(texts('[data-side="student"] .opd-cell')).toEqual(["be", " good", "\n", "Q"]);
    expect(texts('[data-side="teacher"] .opd-cell')).toEqual(["hint", "\n", "Q"]);
    expect(texts(".opd-only-student")).toEqual(["be", " good"]);
    expect(texts(".opd-only-teacher")).toEqual(["hint"]);
    expect(el.textContent).toContain("marked: the teacher does not see it");
  });

  it("mark nothing of the student's where the teacher sees all of it", async () => {
    const { texts } = await show(withPrompts(["Q", "\n"], ["hint", "Q", "\n"], [0, 1]));
    expect(texts(".opd-only-student")).toEqual([]);
  });

  it("mark what a teacher is not shown, where it is shown nothing else", async () => {
    const { texts } = await show(withPrompts(["be", " good", "Q"], ["Q"], null));
    expect(texts(".opd-only-student")).toEqual(["be", " good"]);
    expect(texts('[data-side="teacher"] .opd-cell')).toEqual(["Q"]);
  });

  it("leave out the prompt of a row that was given none", async () => {
    const { texts, facts } = await show(withPrompts(["Q"], [], null));
    expect(texts(".opd-prompt-who span:first-child")).toEqual(["Student sees"]);
    expect(facts.join()).not.toContain("prompt 0");
  });
});

describe("the stretch that only one side has", () => {
  it.each([
    [
      ["a", "b", "c"],
      ["a", "c"],
      [1, 2],
    ],
    [["a", "c"], ["a", "b", "c"], null],
    [["a"], ["a"], null],
    [[], ["a"], null],
    [["a"], [], [0, 1]],
    [
      ["x", "a"],
      ["y", "a"],
      [0, 1],
    ],
    [
      ["ab", "cd", "e"],
      ["a", "b", "e"],
      [1, 2],
    ], // cut in other places
    [["ab", "cd"], ["ad"], [0, 2]], // reaches into both
    [
      ["a", "b", "b"],
      ["a", "b"],
      [2, 3],
    ],
  ] as [string[], string[], [number, number] | null][])("of %j against %j is %j", (mine, theirs, expected) => {
    expect(onlyHere(mine, theirs)).toEqual(expected);
  });
});

describe("a signal that a teacher does not have", () => {
  /** The fixture with one more row that has one signal of its own, as a contrast of contexts does. */
  function withContrast(): ScoresTrait {
    const scores = makeScores();
    const { meta } = scores;
    meta.teachers.push({ name: "C", kind: "contrast", description: "A less B", editable: false, limit: null });
    const alike = meta.signals.find((s) => s.name === "advantage")!;
    meta.signals.push({ ...alike, name: "hint_contrast", label: "hint contrast" });
    meta.planes.push({ signal: "hint_contrast", teacher: "C" });
    const values = new Float32Array(meta.planes.length * meta.tokens).fill(1);
    values.set(new Float32Array(scores.values.buffer));
    const none = (): DataView => new DataView(new Float32Array(meta.tokens * meta.top_k).fill(Number.NaN).buffer);
    const ids = new DataView(new Uint32Array(meta.tokens * meta.top_k).fill(0xffffffff).buffer);
    scores.teacher_top.C = { ids, teacher: none(), student: none(), at_student: none() };
    return { ...scores, values: new DataView(values.buffer) };
  }

  it("is said once, with the way to one it has and to one that has it", async () => {
    const { one, texts, model } = await show(withContrast(), "C");
    expect(one(".opd-absent").textContent).toContain("C has no advantage.");
    expect(texts(".opd-absent button")).toEqual([
      "show its hint contrast",
      "show Teacher 0.5M",
      "show Self + solution",
      "show Self + answer",
    ]);
    expect(one('[data-teacher-row="C"]').hasAttribute("data-none")).toBe(true);
    expect(one(`[data-teacher-row="${SELF}"]`).hasAttribute("data-none")).toBe(false);
    one(".opd-absent button").click();
    await new Promise<void>((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
    expect(model.get("signal")).toBe("hint_contrast");
    expect(one(".opd-absent").hidden).toBe(true);
    expect(one('[data-teacher-row="C"]').hasAttribute("data-none")).toBe(false);
    expect(one('[data-teacher-row="C"] .opd-cell').className).toMatch(/opd-v-p\d/);
    expect(one(`[data-teacher-row="${SELF}"]`).hasAttribute("data-none")).toBe(true);
  });

  it("is no word about a signal of the student's own", async () => {
    const { one } = await show(makeScores());
    expect(one(".opd-absent").hidden).toBe(true);
  });
});

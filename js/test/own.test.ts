/** Words from the data that every JavaScript object knows are words like any other. */
import { expect, it } from "vitest";
import { makeScores } from "../dev/fixture";
import { standing } from "../src/core/node_mark";
import { own } from "../src/core/own";
import { staticModel } from "../src/host/static_model";
import type { RolloutMeta, ScoresTrait } from "../src/model/contract";
import { Dataset } from "../src/model/dataset";
import type { ProgressTrait } from "../src/model/progress_contract";
import { maker } from "../src/view/dom";
import { outcomeMark } from "../src/view/outcome";
import { stateWords } from "../src/view/progress/words";
import type { ViewState } from "../src/view/state";
import { titleLine } from "../src/view/text/title_line";
import { compareKind } from "../src/widgets/compare_source";

const WORD = "constructor";

it("a table holds what was put there", () => {
  expect([own({ a: 1 }, "a"), own({ a: 1 }, WORD), own(undefined, "a")]).toEqual([1, undefined, undefined]);
});

it("a rollout says its strange words, and the view is there", () => {
  const root = document.createElement("div");
  const record = {
    ...Dataset.read(makeScores(), null).rollout(0),
    outcome: WORD,
    status: WORD,
    text_source: WORD,
  } as unknown as RolloutMeta;
  titleLine(root).update({ record, rollout: 0 } as ViewState);
  expect([...root.querySelectorAll(".opd-badge")].map((badge) => badge.textContent)).toEqual([WORD]);
  const mark = outcomeMark(maker(root), record.outcome);
  expect([mark.className, mark.textContent]).toEqual(["opd-outcome opd-outcome-unknown", "?"]);
});

it("a teacher of such a name has what was sent of it, and no more", () => {
  const scores: ScoresTrait = makeScores();
  const [teacher, ...others] = scores.meta.teachers;
  const rollouts = scores.meta.rollouts.map((r) => ({ ...r, contexts: {}, teacher_prompts: {}, other_lengths: {} }));
  const meta = { ...scores.meta, rollouts, teachers: [{ ...teacher, name: WORD }, ...others] };
  const data = Dataset.read({ ...scores, meta }, null);
  expect([data.context(0, WORD), data.teacherPrompt(0, WORD)]).toEqual([null, null]);
  expect(data.responseTokens(0, WORD)).toBe(data.rollout(0).length);
  expect(data.otherTokens(0, WORD, 0)).toEqual([]);
});

it("a verdict or a phase that is not known has no sign of its own", () => {
  expect(standing({ verdict: WORD, alignment: 0, low: 0, high: 0 })).toBe("silent");
  expect(stateWords({ state: "running", phase: WORD } as unknown as ProgressTrait)).toBe("running");
});

it("a signal of such a name has the end that was fitted", () => {
  const scores = makeScores();
  const [signal, ...others] = scores.meta.signals;
  const meta = { ...scores.meta, signals: [{ ...signal, name: WORD }, ...others] };
  const model = staticModel({ scores: { ...scores, meta }, across: "teachers", limits: {} });
  const source = compareKind().source(model as never, () => undefined, new AbortController().signal, { ended: false });
  const state = source.state({ rollout: 0, token: -1, teacher: "", signal: WORD });
  expect(state?.scale.limit).toBe(signal.limit);
});

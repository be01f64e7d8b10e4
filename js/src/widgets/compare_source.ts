/** From a model's traits to what a comparison draws: one scale for everything in view, and checkpoints by step. */

import type { AnyModel } from "@anywidget/types";
import { beyond, type Counted, fittedLimit } from "../core/compare/scale";
import { difference, track } from "../core/compare/track";
import { own } from "../core/own";
import { isolated } from "../core/plain_text";
import { float32 } from "../model/codec";
import type { ScoresMeta, SignalMeta } from "../model/contract";
import type { Dataset } from "../model/dataset";
import { kept } from "../view/cache";
import { type Arrangement, type CompareState, differenceName, type StepSeries } from "../view/compare/state";
import type { Selection, ViewState } from "../view/state";
import type { AnyTraits, Kind, Source } from "./mount";
import { scoresKind } from "./scores_source";

/** The `steps` trait; Python's half is `opd_widgets/widgets/_compare_steps.py`. */
export interface StepsTrait {
  /** `ScoresMeta.generation` of the scores that are the first step's: the two traits may arrive in either order. */
  generation: number;
  first: number | null;
  /** float32 [planes, N], in the order of the first's planes. */
  others: { step: number; values: DataView }[];
  /** End of each signal's scale, fitted to all steps. */
  limits: Record<string, number>;
}

export const ARRANGEMENT = ["across", "compared", "step", "limits"] as const;

function stepSeries(data: Dataset, trait: StepsTrait | null): StepSeries | null {
  const { meta } = data;
  if (!trait || trait.first === null || trait.others.length === 0) return null;
  if (meta.generation !== undefined && trait.generation !== meta.generation) return null;
  const rows = new Map(meta.planes.map((plane, i) => [`${plane.signal}\u0000${plane.teacher ?? ""}`, i]));
  const planes = trait.others.map(({ step, values }) =>
    float32(values, meta.planes.length * meta.tokens, `values of step ${step}`),
  );
  return {
    steps: [trait.first, ...trait.others.map((other) => other.step)],
    values(index, rollout, signal, teacher) {
      if (index === 0) return data.values(rollout, signal, teacher);
      const row = rows.get(`${signal}\u0000${teacher}`) ?? rows.get(`${signal}\u0000`);
      if (row === undefined) return null;
      const { offset, length } = data.rollout(rollout);
      const from = row * meta.tokens + offset;
      return planes[index - 1].subarray(from, from + length);
    },
  };
}

const everyRollout = ({ rollouts }: ScoresMeta): number[] => rollouts.map((_, i) => i);

class CompareSource implements Source<CompareState, Selection> {
  private steps: { data: Dataset; trait: StepsTrait | null; series: StepSeries | null } | null = null;
  private scales = new Map<string, SignalMeta>();

  constructor(
    private readonly model: AnyModel<AnyTraits>,
    private readonly scores: Source<ViewState, Selection>,
  ) {}

  state(chosen: Selection): CompareState | null {
    const base = this.scores.state(chosen);
    if (!base) return null;
    const steps = this.series(base.data);
    const arrangement = this.arrangement(base, steps);
    const whole = { ...base, ...arrangement };
    const fitted = steps ? (own(this.trait()?.limits, base.signal) ?? base.scale.limit) : base.scale.limit;
    const limit = own(arrangement.limits, base.signal) ?? fitted;
    const scale = this.scale(base, `${base.signal}\u0000${limit}`, () => {
      // Python has looked at the first step, up to its own end.
      const ends = limit === base.scale.limit && !steps ? base.data.beyond(base.scale) : this.ends(base, steps, limit);
      return { ...base.scale, ...ends, limit };
    });
    return {
      ...whole,
      scale,
      steps,
      difference: this.difference(whole, steps),
      fit: (asked) => this.fit(whole, steps, asked),
    };
  }

  complete(change: Partial<Selection>, state: CompareState | null): Partial<Selection> {
    return this.scores.complete(change, state);
  }
  toShared(change: Partial<Selection>, whole: Selection): ReturnType<Source<ViewState, Selection>["toShared"]> {
    return this.scores.toShared(change, whole);
  }
  fromShared(shared: Parameters<Source<ViewState, Selection>["fromShared"]>[0]): Partial<Selection> {
    return this.scores.fromShared(shared);
  }

  private trait(): StepsTrait | null {
    return (this.model.get("steps") as StepsTrait | undefined) ?? null;
  }

  private series(data: Dataset): StepSeries | null {
    const trait = this.trait();
    if (this.steps?.data !== data || this.steps.trait !== trait) {
      this.steps = { data, trait, series: stepSeries(data, trait) };
      this.scales.clear();
    }
    return this.steps.series;
  }

  /** Whatever Python set, there is something to show. */
  private arrangement({ data }: ViewState, steps: StepSeries | null): Arrangement {
    const names = data.teachers.map((t) => t.name);
    const asked = ((this.model.get("compared") as string[] | undefined) ?? []).filter((name) => names.includes(name));
    const compared = [...new Set([...asked, ...(asked.length < 2 ? names : [])])];
    const across = this.model.get("across") as Arrangement["across"];
    const open = across === "steps" ? steps !== null : across === "rollouts" || names.length > 1;
    const step = this.model.get("step") as number;
    return {
      across: open ? across : names.length > 1 ? "teachers" : "rollouts",
      compared: asked.length < 2 ? compared.slice(0, 2) : compared,
      step: steps && !steps.steps.includes(step) ? steps.steps[steps.steps.length - 1] : step,
      limits: (this.model.get("limits") as Record<string, number> | undefined) ?? {},
    };
  }

  /** Made once for each end: views compare scales by identity. */
  private scale({ data }: ViewState, key: string, make: () => SignalMeta): SignalMeta {
    const generation = `${key}\u0000${data.meta.generation ?? 0}`;
    const known = this.scales.get(generation);
    if (known) return known;
    const made = make();
    this.scales.set(generation, made);
    return made;
  }

  private ends({ data, signal }: ViewState, steps: StepSeries | null, limit: number): ReturnType<typeof beyond> {
    const parts = everyRollout(data.meta).flatMap((rollout) =>
      data.teachers.flatMap(({ name }) => this.values(data, steps, rollout, signal, name)),
    );
    return beyond(parts, limit);
  }

  private values(data: Dataset, steps: StepSeries | null, rollout: number, signal: string, teacher: string): Counted[] {
    const mask = data.mask(rollout);
    const all = steps
      ? steps.steps.map((_, i) => steps.values(i, rollout, signal, teacher))
      : [data.values(rollout, signal, teacher)];
    return all.flatMap((values) => (values ? [{ values, mask }] : []));
  }

  /** What is subtracted in one rollout. */
  private differences(state: ViewState & Arrangement, steps: StepSeries | null, rollout: number): Counted[] {
    const { data, across, compared, signal, teacher } = state;
    const how = state.scale.aggregate;
    const mask = data.mask(rollout);
    const pair = (a: [Float32Array | null, string], b: [Float32Array | null, string]): Counted[] => {
      if (!a[0] || !b[0]) return [];
      const [one, other] = [a, b].map(([values, name]) => track(values!, data.groups(rollout, signal, name), how));
      return [{ values: difference(one, other, how).values, mask }];
    };
    if (across === "teachers") {
      const [a, b] = compared
        .slice(0, 2)
        .map((n): [Float32Array | null, string] => [data.values(rollout, signal, n), n]);
      return b ? pair(a, b) : [];
    }
    const first = steps?.values(0, rollout, signal, teacher) ?? null;
    return (steps?.steps ?? [])
      .slice(1)
      .flatMap((_, i) => pair([steps!.values(i + 1, rollout, signal, teacher), teacher], [first, teacher]));
  }

  private difference(state: ViewState & Arrangement, steps: StepSeries | null): SignalMeta | null {
    const { data, across, compared, signal, teacher, scale, limits } = state;
    const own = !scale.per_teacher && across === "teachers";
    if (across === "rollouts" || own || (across === "teachers" && compared.length < 2)) return null;
    const [high, low] =
      across === "teachers" ? compared.map(isolated) : [`step ${state.step}`, `step ${steps?.steps[0]}`];
    const of = across === "teachers" ? [across, high, low] : [across, teacher];
    const name = differenceName(signal);
    // Each side may be off by the band.
    const noise = scale.noise === null || scale.scale === "log" ? null : 2 * scale.noise;
    const parts = kept(data, "differences", [signal, ...of, this.trait()?.generation ?? 0], () => {
      const all = everyRollout(data.meta).flatMap((rollout) => this.differences(state, steps, rollout));
      return { fitted: fittedLimit([all], noise ?? 0), all };
    });
    const limit = limits[name] ?? parts.fitted;
    return this.scale(state, [name, ...of, state.step, limit].join("\u0000"), () => ({
      ...scale,
      ...beyond(parts.all, limit),
      name,
      label: `difference of ${scale.label}`,
      formula: `(${scale.label} ${across === "teachers" ? "under" : "at"} ${high}) − (${across === "teachers" ? "under" : "at"} ${low})`,
      scale: "diverging",
      limit,
      noise,
      low: `higher ${across === "teachers" ? "under" : "at"} ${low}`,
      high: `higher ${across === "teachers" ? "under" : "at"} ${high}`,
    }));
  }

  /** The end of a scale for the values in view. */
  private fit(state: ViewState & Arrangement, steps: StepSeries | null, asked: SignalMeta): number {
    const { data, across, compared, rollout, signal, teacher } = state;
    if (asked.name === differenceName(signal))
      return fittedLimit([this.differences(state, steps, rollout)], asked.noise ?? 0);
    if (asked.unit === "share" || asked.unit === "cosine") return 1;
    const who = across === "teachers" ? compared : [teacher];
    const values = who.map((name) => this.values(data, across === "steps" ? steps : null, rollout, signal, name));
    return fittedLimit(values, asked.noise ?? 0, asked.scale === "log" ? 2 : 1e-6);
  }
}

export function compareKind(): Kind<CompareState, Selection> {
  const scores = scoresKind("opd-compare");
  return {
    ...scores,
    data: [...scores.data, "steps", ...ARRANGEMENT],
    source: (model, ...site) => new CompareSource(model, scores.source(model, ...site)),
  };
}

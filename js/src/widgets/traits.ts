/** From a model's traits to the state a view draws: whatever Python set, a view gets something it can show. */
import type { AnyModel } from "@anywidget/types";
import type { ExplorerTraits, JobTrait, LiveTrait, ScoresTrait } from "../model/contract";
import { Dataset } from "../model/dataset";
import type { Selection, ViewState } from "../view/state";

export type Model = AnyModel<ExplorerTraits>;
export const TRAITS = ["scores", "live", "job", "rollout", "token", "teacher", "signal"] as const;
const NO_JOB: JobTrait = { state: "none", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" };

/** Decodes again only what changed; the same traits give the same Dataset. */
export class Source {
  private scores: ScoresTrait | null = null;
  private live: LiveTrait | null = null;
  private data: Dataset | null = null;

  constructor(private readonly model: Model) {}

  private read(): Dataset | null {
    const scores = this.model.get("scores");
    const live = this.model.get("live") ?? null;
    if (!scores?.meta) return null;
    if (this.data === null || scores !== this.scores || live !== this.live) {
      this.data = Dataset.read(scores, live, this.data);
      this.scores = scores;
      this.live = live;
    }
    return this.data;
  }

  /** null where there is nothing to show yet. */
  state(): ViewState | null {
    const data = this.read();
    const { model } = this;
    if (!data || data.meta.rollouts.length === 0 || data.signals.length === 0) return null;
    const rollout = Math.max(0, Math.min(data.meta.rollouts.length - 1, model.get("rollout") ?? 0));
    const record = data.rollout(rollout);
    const token = model.get("token") ?? -1;
    const teachers = data.teachers.map((t) => t.name);
    const teacher = teachers.includes(model.get("teacher")) ? model.get("teacher") : (teachers[0] ?? "");
    const asked = data.signal(model.get("signal"));
    const scale = asked?.available ? asked : (data.signals.find((s) => s.available) ?? asked ?? data.signals[0]);
    return {
      data,
      rollout,
      record,
      token: token >= 0 && token < record.length ? token : -1,
      teacher,
      signal: scale.name,
      scale,
      job: model.get("job") ?? NO_JOB,
    };
  }
}

/** A change the reader asked for, with what follows from it: a token that another rollout does not have is no selection. */
export function complete(change: Partial<Selection>, state: ViewState | null): Partial<Selection> {
  if (change.rollout === undefined || change.token !== undefined || !state) return change;
  const length = state.data.meta.rollouts[change.rollout]?.length ?? 0;
  return state.token < length ? change : { ...change, token: -1 };
}

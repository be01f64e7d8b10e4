/** From a model's traits to the state a view of scores draws: whatever Python set, a view gets something it can show. */
import type { AnyModel } from "@anywidget/types";
import type { ExplorerTraits, JobTrait, LiveTrait, ScoresTrait } from "../model/contract";
import { Dataset } from "../model/dataset";
import type { SharedSelection } from "../model/shared_selection";
import type { Selection, ViewState } from "../view/state";
import type { AnyTraits, Kind, Source } from "./mount";

const NO_JOB: JobTrait = { state: "none", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" };

/** Decodes again only what changed; the same traits give the same Dataset. */
class ScoresSource implements Source<ViewState, Selection> {
  private scores: ScoresTrait | null = null;
  private live: LiveTrait | null = null;
  private data: Dataset | null = null;

  constructor(private readonly model: AnyModel<ExplorerTraits>) {}

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

  state(chosen: Selection): ViewState | null {
    const data = this.read();
    if (!data || data.meta.rollouts.length === 0 || data.signals.length === 0) return null;
    const rollout = Math.max(0, Math.min(data.meta.rollouts.length - 1, chosen.rollout ?? 0));
    const record = data.rollout(rollout);
    const token = chosen.token ?? -1;
    const teachers = data.teachers.map((t) => t.name);
    const teacher = teachers.includes(chosen.teacher) ? chosen.teacher : (teachers[0] ?? "");
    const asked = data.signal(chosen.signal);
    const scale = asked?.available ? asked : (data.signals.find((s) => s.available) ?? asked ?? data.signals[0]);
    return {
      data,
      rollout,
      record,
      token: token >= 0 && token < record.length ? token : -1,
      teacher,
      signal: scale.name,
      scale,
      job: this.model.get("job") ?? NO_JOB,
    };
  }

  /** A token that another rollout does not have is no selection. */
  complete(change: Partial<Selection>, state: ViewState | null): Partial<Selection> {
    if (change.rollout === undefined || change.token !== undefined || !state) return change;
    const length = state.data.meta.rollouts[change.rollout]?.length ?? 0;
    return state.token < length ? change : { ...change, token: -1 };
  }

  toShared(change: Partial<Selection>, whole: Selection): Partial<SharedSelection> {
    const { teacher, signal } = change;
    const said: Partial<SharedSelection> = {};
    if (teacher !== undefined) said.teacher = teacher;
    if (signal !== undefined) said.signal = signal;
    const record = this.read()?.meta.rollouts[whole.rollout];
    if (!record || (change.rollout === undefined && change.token === undefined)) return said;
    const token = whole.token >= 0 ? whole.token : null;
    return { ...said, question: record.question, rollout: record.id, token, node: null };
  }

  fromShared({ rollout: id, token, teacher, signal }: SharedSelection): Partial<Selection> {
    const data = this.read();
    if (!data) return {};
    const found: Partial<Selection> = {};
    if (teacher !== null && data.teachers.some((t) => t.name === teacher)) found.teacher = teacher;
    if (signal !== null && data.signal(signal)?.available) found.signal = signal;
    const rollout = id === null ? -1 : data.meta.rollouts.findIndex((r) => r.id === id);
    if (rollout < 0) return found;
    return { ...found, rollout, token: token ?? -1 };
  }
}

/** A view of scores. */
export const scoresKind = (name: string): Kind<ViewState, Selection> => ({
  name,
  data: ["scores", "live", "job"],
  chosen: ["rollout", "token", "teacher", "signal"],
  empty: "No scores yet.",
  source: (model: AnyModel<AnyTraits>) => new ScoresSource(model),
});

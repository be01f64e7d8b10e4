/** From a model's traits to the state a view of scores draws: whatever Python set, a view gets something it can show. */
import type { AnyModel } from "@anywidget/types";
import type { Kernel } from "../host/kernel";
import {
  type ExplorerTraits,
  type JobTrait,
  LIVE_TRAITS,
  type LiveTrait,
  type RolloutMeta,
  type ScoresTrait,
} from "../model/contract";
import { Dataset } from "../model/dataset";
import { createRpc } from "../model/rpc";
import type { SharedSelection } from "../model/shared_selection";
import { TopWindows } from "../model/top_windows";
import type { Selection, ViewState } from "../view/state";
import { channel } from "./channel";
import type { AnyTraits, Kind, Source } from "./mount";

const NO_JOB: JobTrait = { state: "none", teacher: null, question: null, done: 0, total: 0, seconds: 0, message: "" };

const EDITS = ["live", ...LIVE_TRAITS] as const;

/** Decodes again only what changed; the same traits give the same Dataset. */
class ScoresSource implements Source<ViewState, Selection> {
  private scores: ScoresTrait | null = null;
  private edits: (LiveTrait | null)[] = [];
  private data: Dataset | null = null;

  /** The rollout shown last. */
  private shown: RolloutMeta | null = null;

  private readonly tops: TopWindows;

  constructor(
    private readonly model: AnyModel<ExplorerTraits>,
    redraw: () => void,
    signal: AbortSignal,
    kernel: Kernel,
  ) {
    this.tops = new TopWindows(createRpc(channel(model), signal), signal, redraw, () => kernel.ended);
  }

  private read(): Dataset | null {
    const scores = this.model.get("scores");
    const edits = EDITS.map((name) => this.model.get(name) ?? null);
    if (!scores?.meta) return null;
    if (this.data === null || scores !== this.scores || edits.some((edit, i) => edit !== this.edits[i])) {
      this.data = Dataset.read(
        scores,
        edits.filter((edit): edit is LiveTrait => edit?.entries !== undefined),
        this.data,
      );
      this.scores = scores;
      this.edits = edits;
    }
    return this.data;
  }

  state(chosen: Selection): ViewState | null {
    const data = this.read();
    if (!data || data.meta.rollouts.length === 0 || data.signals.length === 0) return null;
    const rollout = Math.max(0, Math.min(data.meta.rollouts.length - 1, chosen.rollout ?? 0));
    const record = data.rollout(rollout);
    const token = chosen.token ?? -1;
    this.shown = record;
    const teachers = data.teachers.map((t) => t.name);
    const teacher = teachers.includes(chosen.teacher) ? chosen.teacher : (teachers[0] ?? "");
    const asked = data.signal(chosen.signal);
    const scale = asked?.available ? asked : (data.signals.find((s) => s.available) ?? asked ?? data.signals[0]);
    return {
      data,
      tops: this.tops.of(data),
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
    const { shown } = this;
    const { rollouts } = data.meta;
    const indexOf = (sought: string | null): number => rollouts.findIndex((r) => r.id === sought);
    const rollout = indexOf(id);
    if (rollout >= 0) return { ...found, rollout, token: token ?? -1 };
    // It stays at its own, which other scores have at another index; where they lack it, at the start.
    if (!shown || rollouts.includes(shown)) return found;
    const own = indexOf(shown.id);
    return own < 0 ? { ...found, rollout: 0, token: -1 } : { ...found, rollout: own };
  }
}

/** A view of scores. */
export const scoresKind = (name: string): Kind<ViewState, Selection> => ({
  name,
  data: ["scores", ...EDITS, "job"],
  chosen: ["rollout", "token", "teacher", "signal"],
  empty: "No scores yet.",
  source: (model: AnyModel<AnyTraits>, redraw, signal, kernel) => new ScoresSource(model, redraw, signal, kernel),
});

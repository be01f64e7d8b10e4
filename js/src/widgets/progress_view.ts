/** A running diagnosis: shown from a trait, so that a late view and a reload see it; stopped and resumed by requests. */
import type { AnyModel, AnyWidget } from "@anywidget/types";
import type { Kernel } from "../host/kernel";
import { float32 } from "../model/codec";
import type { ProgressSelection, ProgressTrait, RunState } from "../model/progress_contract";
import { createRpc } from "../model/rpc";
import { createRunCommands } from "../model/run_commands";
import type { SharedSelection } from "../model/shared_selection";
import { progressView } from "../view/progress/progress_view";
import type { ProgressState, ShownRun } from "../view/progress/state";
import { channel } from "./channel";
import { type AnyTraits, type Kind, mount, type Source } from "./mount";

const OVER: readonly RunState[] = ["done", "failed"];

/** With its kernel a run has ended where it was, whatever was said of it last. */
const left = (run: ProgressTrait): ShownRun => ({
  ...run,
  live: false,
  ended: true,
  state: OVER.includes(run.state) ? run.state : "stopped",
});

const source = (
  model: AnyModel<AnyTraits>,
  _redraw: () => void,
  _signal: AbortSignal,
  kernel: Kernel,
): Source<ProgressState, ProgressSelection> => ({
  state(chosen) {
    const said = model.get("progress") as ProgressTrait | null;
    if (!said?.state) return null;
    const run = kernel.ended && said.live ? left(said) : said;
    return { run, chosen, line: float32(run.line, run.line.byteLength / 4, "the widths") };
  },
  complete: (change) => change,
  toShared({ question, node, teacher }): Partial<SharedSelection> {
    const said: Partial<SharedSelection> = {};
    if (teacher !== undefined) said.teacher = teacher || null;
    if (question === undefined) return said;
    return {
      ...said,
      question: question || null,
      rollout: null,
      token: null,
      node: node !== undefined && node >= 0 ? node : null,
    };
  },
  fromShared: ({ question, node, teacher }) => ({ question: question ?? "", node: node ?? -1, teacher: teacher ?? "" }),
});

const kind: Kind<ProgressState, ProgressSelection> = {
  name: "opd-progress-view",
  data: ["progress"],
  chosen: ["question", "node", "teacher"],
  empty: "No diagnosis is running.",
  source,
};

const widget: AnyWidget<ProgressSelection> = {
  render(props) {
    return mount(props, kind, ({ root, actions, model, kernel, signal, refresh }) => {
      const commands = createRunCommands(createRpc(channel(model), signal), signal, refresh);
      const view = progressView(root, actions, commands);
      return {
        update(state) {
          if (!kernel.ended) commands.settle(state.run.state);
          view.update(state);
        },
        destroy: view.destroy,
      };
    });
  },
};

export default widget;

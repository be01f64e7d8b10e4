/** The comparison as a whole: one bar of switches and one scale over whichever layout is chosen. */
import { announcer } from "../announce";
import { maker } from "../dom";
import { help, keysWith } from "../help";
import { scoresNotes } from "../notes";
import { type Choice, segmented } from "../segmented";
import { scoresTeacherSwitch, signalSwitch } from "../switches";
import { keys } from "../text/keys";
import { titleLine } from "../text/title_line";
import { compareRollouts } from "./rollouts";
import { compareScale } from "./scale";
import type { CompareActions, CompareState, CompareView, Layout } from "./state";
import { compareSteps } from "./steps";
import { compareTeachers } from "./teachers";

const LAYOUTS: Record<Layout, (root: HTMLElement, actions: CompareActions) => CompareView> = {
  teachers: compareTeachers,
  rollouts: compareRollouts,
  steps: compareSteps,
};

function layoutSwitch(root: HTMLElement, actions: CompareActions): CompareView {
  const life = new AbortController();
  const control = segmented(root, {
    label: "Layout",
    data: "data-layout",
    choose: (layout) => actions.arrange({ across: layout as Layout }),
    signal: life.signal,
  });
  root.append(control.node);
  return {
    update({ data, steps, across }) {
      const choices: Choice[] = [
        {
          value: "teachers",
          label: "teachers",
          disabled: data.teachers.length < 2 ? "there is one teacher only" : null,
        },
        { value: "rollouts", label: "rollouts" },
        { value: "steps", label: "steps", disabled: steps ? null : "these are scores of one checkpoint" },
      ];
      control.show(choices, across);
    },
    destroy() {
      life.abort();
      control.node.remove();
    },
  };
}

export function compare(root: HTMLElement, actions: CompareActions): CompareView {
  const h = maker(root);
  const life = new AbortController();
  let last: CompareState | null = null;
  let body: { layout: Layout; view: CompareView; box: HTMLElement } | null = null;
  const bar = h("div", { class: "opd-bar-top" });
  const main = h("section", { class: "opd-main", "aria-label": "Comparison" });
  const frame = h("div", { class: "opd-frame" }, bar, main);
  root.append(frame);
  const views: CompareView[] = [
    layoutSwitch(bar, actions),
    scoresTeacherSwitch(bar, actions),
    signalSwitch(bar, actions),
    scoresNotes(main),
    titleLine(main),
    compareScale(main, actions, (state) => state.scale),
    announcer(frame),
  ];
  const guide = help(root, life.signal, keysWith("text", "rollouts"));
  bar.append(guide.button);
  bar.after(guide.panel);
  keys(
    root,
    {
      state: () => last,
      actions,
      help: guide.toggle,
      move(step) {
        if (!last) return;
        const most = last.data.meta.rollouts.length - 1;
        actions.select({ rollout: Math.max(0, Math.min(most, last.rollout + step)) });
      },
    },
    life.signal,
  );

  /** Only the layout in view exists. */
  function layout(wanted: Layout): CompareView {
    if (body?.layout === wanted) return body.view;
    body?.view.destroy();
    body?.box.remove();
    const box = h("div", { class: "opd-compare-body", "data-layout": wanted });
    main.append(box);
    body = { layout: wanted, view: LAYOUTS[wanted](box, actions), box };
    return body.view;
  }

  return {
    update(state) {
      last = state;
      for (const view of views) view.update(state);
      layout(state.across).update(state);
    },
    destroy() {
      life.abort();
      body?.view.destroy();
      for (const view of views) view.destroy();
      frame.remove();
    },
  };
}

/** The whole: a bar of switches, the list, the text with all teachers under it, and the selected token. */

import { announcer } from "../announce";
import { maker } from "../dom";
import { help, keysWith } from "../help";
import { legend } from "../legend";
import { scoresNotes } from "../notes";
import type { Actions, ContextPort, View, ViewState } from "../state";
import { scoresTeacherSwitch, signalSwitch } from "../switches";
import { keys } from "../text/keys";
import { reader } from "../text/reader";
import { titleLine } from "../text/title_line";
import { trailing } from "../trailing";
import { absent } from "./absent";
import { contextEditor } from "./context_editor";
import { prompts } from "./prompts";
import { rolloutList } from "./rollout_list";
import { teacherRows } from "./teacher_rows";
import { tokenPanel } from "./token_panel";

export function explorer(root: HTMLElement, actions: Actions, contexts: ContextPort): View {
  const h = maker(root);
  const life = new AbortController();
  let last: ViewState | null = null;
  const bar = h("div", { class: "opd-bar-top" });
  const list = h("section", { class: "opd-side", "aria-label": "Rollouts" });
  const inner = h("div", { class: "opd-side-inner" });
  list.append(inner);
  const main = h("section", { class: "opd-main", "aria-label": "Selected rollout" });
  const panel = h("section", { class: "opd-panel", "aria-label": "Selected token" });
  const body = h("div", { class: "opd-body" }, list, main, panel);
  const frame = h("div", { class: "opd-frame" }, bar, body);
  root.append(frame);

  const rows = rolloutList(inner, actions);
  const views: View[] = [
    scoresTeacherSwitch(bar, actions),
    signalSwitch(bar, actions),
    legend(bar),
    rows,
    scoresNotes(main),
    titleLine(main),
    prompts(main),
    absent(main, actions),
    reader(main, actions),
    trailing(root, teacherRows(main, actions)),
    contextEditor(main, contexts),
    trailing(root, tokenPanel(panel, actions)),
    announcer(frame),
  ];
  const guide = help(root, life.signal, keysWith("text", "rollouts", "list", "find", "context"));
  bar.append(guide.button);
  bar.after(guide.panel);
  const focus = (selector: string) => (): void => root.querySelector<HTMLElement>(selector)?.focus();
  keys(
    root,
    {
      state: () => last,
      actions,
      move: rows.move,
      help: guide.toggle,
      edit: focus(".opd-context-text:not([readonly])"),
      find: focus(".opd-find"),
      findText: focus(".opd-text-find"),
      goTo: focus(".opd-goto"),
    },
    life.signal,
  );

  return {
    update(state) {
      last = state;
      for (const view of views) view.update(state);
    },
    destroy() {
      life.abort();
      for (const view of views) view.destroy();
      frame.remove();
    },
  };
}

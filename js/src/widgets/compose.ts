/** A widget made of a few views in one box, with the keyboard. */
import type { AnyWidget } from "@anywidget/types";
import type { ExplorerTraits } from "../model/contract";
import { announcer } from "../view/announce";
import { maker } from "../view/dom";
import { help, keysWith, MARKS, type Place } from "../view/help";
import type { Actions, View, ViewState } from "../view/state";
import { keys } from "../view/text/keys";
import { mount } from "./mount";
import { scoresKind } from "./scores_source";

type Part = (root: HTMLElement, actions: Actions) => View & { move?(step: number): void };

/** `places`: what the keys named in the help panel need and the parts have. */
export function compose(name: string, parts: Part[], places: readonly Place[]): AnyWidget<ExplorerTraits> {
  return {
    render: (props) =>
      mount(props, scoresKind(name), ({ root, actions, signal }) => {
        let last: ViewState | null = null;
        const box = maker(root)("div", { class: "opd-frame opd-alone" });
        root.append(box);
        const guide = help(root, signal, keysWith(...places), places.includes("text") ? MARKS : []);
        box.append(guide.button, guide.panel);
        const views = [...parts, announcer as Part].map((part) => part(box, actions));
        const move = views.find((v) => v.move)?.move;
        const field = (selector: string): (() => void) | undefined => {
          const node = root.querySelector<HTMLElement>(selector);
          return node ? () => node.focus() : undefined;
        };
        const fields = { findText: field(".opd-text-find"), goTo: field(".opd-goto"), find: field(".opd-find") };
        keys(root, { state: () => last, actions, move, help: guide.toggle, ...fields }, signal);
        return {
          update(state) {
            last = state;
            for (const view of views) view.update(state);
          },
          destroy() {
            for (const view of views) view.destroy();
          },
        };
      }),
  };
}

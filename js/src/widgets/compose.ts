/** A widget made of a few views in one box, with the keyboard. */
import type { AnyWidget } from "@anywidget/types";
import type { ExplorerTraits } from "../model/contract";
import { announcer } from "../view/announce";
import { maker } from "../view/dom";
import { keys } from "../view/keys";
import type { Actions, View, ViewState } from "../view/state";
import { mount } from "./mount";
import { scoresKind } from "./scores_source";

type Part = (root: HTMLElement, actions: Actions) => View & { move?(step: number): void };

export function compose(name: string, parts: Part[]): AnyWidget<ExplorerTraits> {
  return {
    render: (props) =>
      mount(props, scoresKind(name), ({ root, actions, signal }) => {
        let last: ViewState | null = null;
        const box = maker(root)("div", { class: "opd-frame opd-alone" });
        root.append(box);
        const views = [...parts, announcer as Part].map((part) => part(box, actions));
        const move = views.find((v) => v.move)?.move;
        keys(root, { state: () => last, actions, move }, signal);
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

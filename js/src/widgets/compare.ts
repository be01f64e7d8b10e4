/** Teachers, rollouts or training steps side by side, on one scale. */
import type { AnyWidget } from "@anywidget/types";
import { compare } from "../view/compare/compare";
import type { Arrangement } from "../view/compare/state";
import { compareKind } from "./compare_source";
import { mount } from "./mount";

const widget: AnyWidget = {
  render: (props) =>
    mount(props, compareKind(), ({ root, actions, model, kernel }) =>
      compare(root, {
        ...actions,
        /** The arrangement is this view's own, also where its selection is shared with others. */
        arrange(change: Partial<Arrangement>) {
          for (const [name, value] of Object.entries(change)) model.set(name, value);
          if (!kernel.ended) model.save_changes();
        },
      }),
    ),
};

export default widget;

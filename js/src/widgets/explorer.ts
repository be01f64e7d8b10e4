/** The Explorer: everything on one page, and the only widget that asks Python to score. */
import type { AnyWidget } from "@anywidget/types";
import { createContextSession } from "../model/context_session";
import type { ExplorerTraits } from "../model/contract";
import { createRpc } from "../model/rpc";
import { explorer } from "../view/explorer/explorer";
import { channel } from "./channel";
import { mount } from "./mount";
import { scoresKind } from "./scores_source";

const widget: AnyWidget<ExplorerTraits> = {
  render(props) {
    return mount(props, scoresKind("opd-explorer"), ({ root, actions, model, kernel, signal, refresh }) => {
      const session = createContextSession(createRpc(channel(model), signal), signal, refresh, () => kernel.ended);
      const view = explorer(root, actions, session);
      return {
        update(state) {
          session.settle(state.data);
          view.update(state);
        },
        destroy: view.destroy,
      };
    });
  },
};

export default widget;

/** The Explorer: everything on one page, and the only widget that may ask Python for something. */
import type { AnyModel, AnyWidget } from "@anywidget/types";
import { createContextSession } from "../model/context_session";
import type { ExplorerTraits } from "../model/contract";
import { createRpc } from "../model/rpc";
import { explorer } from "../view/explorer";
import { type AnyTraits, mount } from "./mount";
import { scoresKind } from "./scores_source";

function channel(model: AnyModel<AnyTraits>): Parameters<typeof createRpc>[0] {
  return {
    send: (content) => model.send(content),
    listen(receive) {
      const heard = (content: unknown): void => receive(content);
      model.on("msg:custom", heard);
      return () => model.off("msg:custom", heard);
    },
  };
}

const widget: AnyWidget<ExplorerTraits> = {
  render(props) {
    return mount(props, scoresKind("opd-explorer"), ({ root, actions, model, signal, refresh }) => {
      const session = createContextSession(createRpc(channel(model), signal), signal, refresh);
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

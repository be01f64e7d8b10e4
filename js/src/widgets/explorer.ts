/** The Explorer: everything on one page, and the only widget that may ask Python for something. */
import type { AnyWidget } from "@anywidget/types";
import { createContextSession } from "../model/context_session";
import type { ExplorerTraits } from "../model/contract";
import { createRpc } from "../model/rpc";
import { explorer } from "../view/explorer";
import { mount } from "./mount";
import type { Model } from "./traits";

function channel(model: Model): Parameters<typeof createRpc>[0] {
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
    return mount(props, "opd-explorer", ({ root, actions, model, signal, refresh }) => {
      const session = createContextSession(createRpc(channel(model), signal), signal, refresh);
      const settle = (): void => {
        for (const { teacher, rollout, context } of model.get("live")?.entries ?? [])
          session.settle(teacher, rollout, context.text);
      };
      model.on("change:live", settle);
      signal.addEventListener("abort", () => model.off("change:live", settle), { once: true });
      return explorer(root, actions, session);
    });
  },
};

export default widget;

/** A model's messages as the channel that requests go through. */
import type { AnyModel } from "@anywidget/types";
import type { Channel } from "../model/rpc";

// biome-ignore lint/suspicious/noExplicitAny: only messages are used, whatever the traits
export function channel(model: AnyModel<any>): Channel {
  return {
    send: (content) => model.send(content),
    listen(receive) {
      const heard = (content: unknown, buffers?: readonly DataView[]): void => receive(content, buffers ?? []);
      model.on("msg:custom", heard);
      return () => model.off("msg:custom", heard);
    },
  };
}

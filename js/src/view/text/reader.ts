/** The text with what leads through it: the minimap, and one line of ways to the largest values, to words, and to positions. */

import { type Actions, changed, type View, type ViewState } from "../state";
import { findBar } from "./find_bar";
import { jumpBar } from "./jump_bar";
import { PROFILE_HEIGHT, PROFILE_WIDTH, profileView } from "./profile";
import { tokenStrip } from "./token_strip";
import { warmer } from "./warm";

export function reader(root: HTMLElement, actions: Actions): View {
  const strip = tokenStrip(root, actions, () => map.inView(strip.text.range));
  const map = profileView(root, actions);
  const jumps = jumpBar(root, actions);
  const finds = findBar(jumps.node, actions, {
    mark(found, cells, current) {
      strip.text.mark(cells, current);
      map.found(found.first);
    },
    scrollTo: (cell) => strip.text.scrollTo(cell),
    focus: () => strip.text.node.focus({ preventScroll: true }),
  });
  const warm = warmer(root.ownerDocument.defaultView as Window, PROFILE_WIDTH, PROFILE_HEIGHT);
  let last: ViewState | null = null;
  const views: View[] = [map, strip, jumps, finds];
  return {
    update(state: ViewState) {
      for (const view of views) view.update(state);
      map.inView(strip.text.range);
      if (changed(last, state, "data", "record", "teacher", "signal")) warm.start(state);
      last = state;
    },
    destroy() {
      warm.stop();
      for (const view of views) view.destroy();
    },
  };
}

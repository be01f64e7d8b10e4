/**
 * A view that follows a drag over the minimap at a distance: the pointer passes hundreds of tokens in a frame, and a frame has time for
 * the text alone. What stands beside it is drawn when the pointer rests.
 */
import { dragged } from "./scrub";
import { changed, type View, type ViewState } from "./state";

/** Milliseconds. */
const REST = 90;

const onlyToken = (before: ViewState, after: ViewState): boolean =>
  !changed(before, after, "data", "record", "rollout", "teacher", "signal", "scale", "tops", "job");

export function trailing(root: HTMLElement, view: View): View {
  let last: ViewState | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    update(state) {
      clearTimeout(timer);
      const may = last !== null && dragged(root) && onlyToken(last, state);
      last = state;
      if (may) timer = setTimeout(() => view.update(state), REST);
      else view.update(state);
    },
    destroy() {
      clearTimeout(timer);
      view.destroy();
    },
  };
}

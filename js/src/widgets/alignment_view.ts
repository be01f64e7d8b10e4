/** Where a teacher points along the ideal gradient, and where against it. */
import type { AnyModel, AnyWidget } from "@anywidget/types";
import type { AlignmentTrait } from "../model/alignment_contract";
import { AlignmentData } from "../model/alignment_data";
import { alignmentView } from "../view/alignment/alignment_view";
import type { AlignmentState } from "../view/alignment/state";
import { type DiagnosisPlace, diagnosisKind } from "./diagnosis_source";
import { type AnyTraits, mount } from "./mount";

type State = AlignmentState & DiagnosisPlace;

/** Decodes again only what changed, and shows the last of both until places and alignment are of one diagnosis; one a view. */
function reader(): (place: DiagnosisPlace, model: AnyModel<AnyTraits>) => State | null {
  let trait: AlignmentTrait | null = null;
  let data: AlignmentData | null = null;
  let last: State | null = null;
  return (found, model) => {
    const now = model.get("alignment") as AlignmentTrait | null;
    if (!now?.meta) return null;
    if (!found.places.fits(now.meta)) return last;
    if (data === null || now !== trait) {
      data = new AlignmentData(now);
      trait = now;
    }
    const place = found.places.questions[found.question];
    const shown = Math.max(0, found.rollout);
    last = { ...found, data, place, shown, record: place.rollouts[shown] ?? null };
    return last;
  };
}

const widget: AnyWidget = {
  render(props) {
    return mount(props, diagnosisKind("opd-alignment-view", ["alignment"], reader()), ({ root, actions }) =>
      alignmentView(root, actions),
    );
  },
};

export default widget;

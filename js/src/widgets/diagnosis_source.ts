/** From a model's traits to a place in a diagnosis, and what is selected with it: a node's token, a token's node, a rollout that passes. */
import type { AnyModel } from "@anywidget/types";
import type { DiagnosisSelection, PlacesTrait } from "../model/diagnosis_contract";
import { type Found, Places } from "../model/places";
import type { SharedSelection } from "../model/shared_selection";
import type { AnyTraits, Kind, Source } from "./mount";
import { sharedPlace } from "./shared_place";

export interface DiagnosisPlace extends Found {
  places: Places;
  /** The selection as the traits have it. */
  chosen: DiagnosisSelection;
}

/** `draw`: a view's state at a place; null where there is nothing to show yet. */
export class DiagnosisSource<State extends DiagnosisPlace> implements Source<State, DiagnosisSelection> {
  private trait: PlacesTrait | null = null;
  private question = "";
  private known: Places | null = null;

  constructor(
    private readonly model: AnyModel<AnyTraits>,
    private readonly draw: (place: DiagnosisPlace, model: AnyModel<AnyTraits>) => State | null,
  ) {}

  /** Decodes again only what changed; the same trait gives the same Places. */
  private read(): Places | null {
    const trait = this.model.get("places") as PlacesTrait | null;
    if (!trait?.meta) return null;
    if (this.known === null || trait !== this.trait) {
      this.known = new Places(trait);
      this.trait = trait;
    }
    return this.known;
  }

  state(chosen: DiagnosisSelection): State | null {
    const places = this.read();
    if (!places || places.questions.length === 0) return null;
    this.question = chosen.question;
    return this.draw({ ...places.find(chosen), places, chosen }, this.model);
  }

  /** Whoever selects says the whole place: another question begins at its first rollout, a node brings its token and the other way round. */
  complete(change: Partial<DiagnosisSelection>, state: State | null): Partial<DiagnosisSelection> {
    const { question: id, rollout: of, token, node } = change;
    if (!state || (id === undefined && of === undefined && token === undefined && node === undefined)) return change;
    const { places } = state;
    const index = id === undefined ? state.question : places.questionIndex(id);
    const question = places.questions[index];
    if (!question) return change;
    const same = index === state.question;
    const preferred = of !== undefined ? places.rolloutIndex(question, of) : same ? state.rollout : 0;
    const first = Math.max(0, preferred);
    const whole = { ...change, question: question.id };
    if (node !== undefined && node >= 0) {
      // A view of the tree may know a rollout and a token behind the node, or beside all initial rollouts.
      if (of !== undefined && token !== undefined) return whole;
      return { ...whole, ...places.atNode(question, node, preferred) };
    }
    if (of !== undefined && preferred < 0) return { token: -1, node: -1, ...whole };
    return { ...whole, ...places.atToken(question, first, token ?? (same ? state.token : -1)) };
  }

  toShared(change: Partial<DiagnosisSelection>, whole: DiagnosisSelection): Partial<SharedSelection> {
    return sharedPlace(change, whole);
  }

  /** What is not in this diagnosis stays as it is here. */
  fromShared(shared: SharedSelection): Partial<DiagnosisSelection> {
    const places = this.read();
    const found: Partial<DiagnosisSelection> = {};
    if (!places) return found;
    const { question: id, rollout: of, token, node, teacher } = shared;
    if (teacher !== null && places.teachers.some((t) => t.name === teacher)) found.teacher = teacher;
    const question = id === null ? undefined : places.questions[places.questionIndex(id)];
    if (!question) return found;
    found.question = question.id;
    const rollout = of === null ? -1 : places.rolloutIndex(question, of);
    if (rollout >= 0) {
      const spot = places.atToken(question, rollout, token ?? -1);
      return { ...found, ...spot, node: spot.node >= 0 ? spot.node : (node ?? -1) };
    }
    if (node !== null && node < question.nodes) return { ...found, ...places.atNode(question, node, -1) };
    if (of !== null && places.isTargeted(question, of))
      return { ...found, rollout: of, token: token ?? -1, node: node ?? -1 };
    return question.id === this.question ? found : { ...found, rollout: "", token: -1, node: -1 };
  }
}

/** A view of a diagnosis. `data`: the traits beside `places` that only Python writes. */
export const diagnosisKind = <State extends DiagnosisPlace>(
  name: string,
  data: readonly string[],
  draw: (place: DiagnosisPlace, model: AnyModel<AnyTraits>) => State | null,
): Kind<State, DiagnosisSelection> => ({
  name,
  data: ["places", ...data],
  chosen: ["question", "rollout", "token", "node", "teacher"],
  empty: "No question was diagnosed.",
  source: (model) => new DiagnosisSource(model, draw),
});

/** From a model's traits to a place in a generation tree, and from a row of it to a place that all views of the diagnosis know. */
import type { AnyModel } from "@anywidget/types";
import type { QuestionTree } from "../core/tree/question";
import type { PlacesTrait } from "../model/diagnosis_contract";
import { Places } from "../model/places";
import type { SharedSelection } from "../model/shared_selection";
import type { TreeSelection, TreeTrait } from "../model/tree_contract";
import { TreeData } from "../model/tree_data";
import type { TreeChange, TreeState } from "../view/tree/state";
import type { AnyTraits, Kind, Source } from "./mount";
import { sharedPlace } from "./shared_place";

/** Index of a rollout by its id, "question/index", targeted ones among them; -1 for one of another question. */
function rolloutIndex(rollouts: number, question: string, id: string): number {
  const number = id.startsWith(`${question}/`) ? id.slice(question.length + 1) : "";
  return /^\d+$/.test(number) && Number(number) < rollouts ? Number(number) : -1;
}

interface Known {
  places: Places;
  data: TreeData;
}

/** Whether a tree is of these places; it says its teachers by its bytes. */
function fits(places: Places, { meta, questions }: TreeTrait): boolean {
  const teachers = places.teachers.length;
  return (
    places.fits({ questions: meta.questions, teachers }) &&
    questions.every(({ verdict }, i) => verdict.byteLength === meta.questions[i].nodes * teachers)
  );
}

class TreeSource implements Source<TreeState, TreeChange> {
  private known: Known | null = null;
  private traits: [unknown, unknown] = [null, null];
  /** The row picked here last. A node and the token taken there are one place of a selection, but two rows. */
  private picked = -1;

  constructor(private readonly model: AnyModel<AnyTraits>) {}

  /** Decodes again only what changed; the last of both until places and tree are of one diagnosis. */
  private read(): Known | null {
    const [named, trait] = [this.model.get("places") as PlacesTrait | null, this.model.get("tree") as TreeTrait | null];
    if (!named?.meta || !trait?.meta || named.meta.questions.length === 0) return null;
    if (this.traits[0] !== named || this.traits[1] !== trait) {
      const places = new Places(named);
      if (!fits(places, trait)) return this.known;
      this.known = { places, data: new TreeData(trait, places.teachers.length, (id) => places.shown(id)) };
      this.traits = [named, trait];
    }
    return this.known;
  }

  state(chosen: TreeChange): TreeState | null {
    const known = this.read();
    if (!known) return null;
    const { places, data } = known;
    const { question, teacher, node } = places.find(chosen);
    const tree = data.question(question);
    const rollout = rolloutIndex(tree.rollouts, places.questions[question].id, chosen.rollout);
    return {
      places,
      tree,
      question,
      teacher,
      rollout,
      token: chosen.token,
      node,
      run: this.run(tree, rollout, chosen),
      visits: chosen.visits === "initial" ? "initial" : "all",
      colour: chosen.colour === "success" ? "success" : "mean",
      verdicts: data.meta.verdicts,
      level: data.meta.level,
    };
  }

  private run(tree: QuestionTree, rollout: number, { token, node }: TreeSelection): number {
    const there = [node >= 0 ? tree.runOfNode(node) : -1, rollout >= 0 ? tree.runAt(rollout, token) : -1];
    const runs = there.filter((run) => run >= 0);
    return runs.includes(this.picked) ? this.picked : (runs[0] ?? -1);
  }

  /** A row as a place: the node that it ends with and the token taken there, else its last token. */
  complete(change: Partial<TreeChange>, state: TreeState | null): Partial<TreeChange> {
    const { run, ...asked } = change;
    if (run === undefined) return "question" in asked ? { rollout: "", token: -1, node: -1, ...asked } : asked;
    if (!state) return asked;
    const { tree } = state;
    this.picked = run;
    const question = state.places.questions[state.question].id;
    const rollout = tree.rolloutAt(run, state.rollout);
    const [from, to] = tree.span(run);
    const here = tree.node(run);
    // One token may be the whole way from a node: that node stands at it. Of targeted rollouts the other views know no nodes.
    const choice = to - from === 1 && run > 0 && tree.isInitial(rollout);
    const before = choice ? tree.node(tree.runs.parent[run]) : -1;
    const whole = { ...asked, question, rollout: rollout < 0 ? "" : `${question}/${rollout}` };
    if (here >= 0) return { ...whole, token: to < tree.lengthOf(rollout) ? to : -1, node: here };
    return { ...whole, token: to - 1, node: before };
  }

  toShared(change: Partial<TreeChange>, whole: TreeChange): Partial<SharedSelection> {
    return sharedPlace(change, whole);
  }

  /** What is not in this diagnosis stays as it is here. */
  fromShared({ question: id, rollout, token, node, teacher }: SharedSelection): Partial<TreeChange> {
    const places = this.read()?.places;
    const found: Partial<TreeChange> = {};
    if (!places) return found;
    if (teacher !== null && places.teachers.some((t) => t.name === teacher)) found.teacher = teacher;
    const question = id === null ? undefined : places.questions[places.questionIndex(id)];
    if (!question) return found;
    const known = rollout !== null && rolloutIndex(question.drawn, question.id, rollout) >= 0;
    return {
      ...found,
      question: question.id,
      rollout: known ? rollout : "",
      token: known ? (token ?? -1) : -1,
      node: node ?? -1,
    };
  }
}

export const treeKind: Kind<TreeState, TreeChange> = {
  name: "opd-tree-view",
  data: ["places", "tree"],
  chosen: ["question", "rollout", "token", "node", "teacher", "visits", "colour"],
  apart: ["visits", "colour"],
  empty: "No question was diagnosed.",
  source: (model) => new TreeSource(model),
};

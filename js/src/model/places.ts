/** The places of a diagnosis: which rollouts pass a node, which node stands at a token. */
import { int32, uint32 } from "./codec";
import type { Cells } from "./contract";
import type { DiagnosisSelection, PlacesMeta, PlacesTrait, QuestionPlace, RolloutPlace } from "./diagnosis_contract";

/** A selection found in the data; -1 for what is not selected, or not there. */
export interface Found {
  /** Index among the questions; -1 only where there is none at all. */
  question: number;
  /** Index among the question's initial rollouts. */
  rollout: number;
  token: number;
  node: number;
  /** Index among the teachers. */
  teacher: number;
}

type Spot = Pick<DiagnosisSelection, "rollout" | "token" | "node">;
const NO_SPOT: Spot = { rollout: "", token: -1, node: -1 };

export class Places {
  readonly meta: PlacesMeta;
  private readonly ids: Uint32Array;
  private readonly nodeAt: Int32Array;
  private readonly texts = new Map<RolloutPlace, Cells>();

  constructor(trait: PlacesTrait) {
    this.meta = trait.meta;
    this.ids = uint32(trait.token_ids, trait.meta.tokens, "token_ids");
    this.nodeAt = int32(trait.node_at, trait.meta.tokens, "node_at");
  }

  /** Whether what came beside these places is of them: a host may deliver one trait before the other. */
  fits({ questions, teachers }: { questions: readonly { nodes: number }[]; teachers: number }): boolean {
    const own = this.questions;
    return (
      teachers === this.teachers.length &&
      questions.length === own.length &&
      questions.every(({ nodes }, i) => nodes === own[i].nodes)
    );
  }

  get questions(): readonly QuestionPlace[] {
    return this.meta.questions;
  }

  get teachers(): PlacesMeta["teachers"] {
    return this.meta.teachers;
  }

  /** How to show a token: text and kind of cell. */
  shown(id: number): [string, string] {
    return this.meta.vocab[id] ?? [String(id), "p"];
  }

  tokenIds({ offset, length }: RolloutPlace): Uint32Array {
    return this.ids.subarray(offset, offset + length);
  }

  /** The node at each token of a rollout; -1 where there is none. */
  nodesOf({ offset, length }: RolloutPlace): Int32Array {
    return this.nodeAt.subarray(offset, offset + length);
  }

  /** A rollout's text, one cell a token. */
  cells(rollout: RolloutPlace): Cells {
    let cells = this.texts.get(rollout);
    if (!cells) {
      const shown = Array.from(this.tokenIds(rollout), (id) => this.shown(id));
      cells = {
        starts: shown.map((_, i) => i),
        texts: shown.map(([text]) => text),
        kinds: shown.map(([, k]) => k).join(""),
      };
      this.texts.set(rollout, cells);
    }
    return cells;
  }

  questionIndex(id: string): number {
    return this.questions.findIndex((q) => q.id === id);
  }

  rolloutId(question: QuestionPlace, rollout: RolloutPlace): string {
    return `${question.id}/${rollout.index}`;
  }

  rolloutIndex(question: QuestionPlace, id: string): number {
    return question.rollouts.findIndex((r) => this.rolloutId(question, r) === id);
  }

  /** Whether an id is that of a rollout of the question which is not among the initial ones. */
  isTargeted(question: QuestionPlace, id: string): boolean {
    const index = id.startsWith(`${question.id}/`) ? Number(id.slice(question.id.length + 1)) : Number.NaN;
    return Number.isInteger(index) && index >= 0 && index < question.drawn && this.rolloutIndex(question, id) < 0;
  }

  /** The token of a rollout at which a node stands; -1 where it does not pass the node. */
  tokenOfNode(rollout: RolloutPlace, node: number): number {
    return node < 0 ? -1 : this.nodesOf(rollout).indexOf(node);
  }

  /** A rollout that passes a node: the preferred one if it does, else the first; -1 where only targeted rollouts do. */
  passing(question: QuestionPlace, node: number, preferred: number): number {
    const here = question.rollouts[preferred];
    if (here && this.tokenOfNode(here, node) >= 0) return preferred;
    return question.rollouts.findIndex((r) => this.tokenOfNode(r, node) >= 0);
  }

  /** What traits say, as far as it is there. */
  find({ question: id, rollout: of, token, node, teacher: name }: DiagnosisSelection): Found {
    const question = Math.max(this.questionIndex(id), this.questions.length > 0 ? 0 : -1);
    const teacher = Math.max(
      this.teachers.findIndex((t) => t.name === name),
      this.teachers.length > 0 ? 0 : -1,
    );
    const place = this.questions[question];
    const found: Found = { question, rollout: -1, token: -1, node: -1, teacher };
    if (!place) return found;
    found.rollout = this.rolloutIndex(place, of);
    found.node = node >= 0 && node < place.nodes ? node : -1;
    const record = place.rollouts[found.rollout];
    if (record && token >= 0 && token < record.length) found.token = token;
    return found;
  }

  /** A rollout and a token of it, with the node there; a token that the rollout does not have is none. */
  atToken(question: QuestionPlace, rollout: number, token: number): Spot {
    const record = question.rollouts[rollout];
    if (!record) return NO_SPOT;
    const inside = token >= 0 && token < record.length;
    return {
      rollout: this.rolloutId(question, record),
      token: inside ? token : -1,
      node: inside ? this.nodesOf(record)[token] : -1,
    };
  }

  /** A node, with a rollout that passes it and the token it took there; the preferred one stays where none does. */
  atNode(question: QuestionPlace, node: number, preferred: number): Spot {
    const rollout = this.passing(question, node, preferred);
    const record = question.rollouts[rollout];
    if (record) return { rollout: this.rolloutId(question, record), token: this.tokenOfNode(record, node), node };
    return { ...this.atToken(question, preferred, -1), node };
  }
}

/** The trees of a diagnosis, each decoded when it is first looked at. */
import { ENDINGS, QuestionTree, type TreeArrays } from "../core/tree/question";
import { CodecError, float32, int32, uint8, uint16, uint32 } from "./codec";
import type { TreeQuestionMeta, TreeQuestionTrait, TreeTrait } from "./tree_contract";

export class TreeData {
  private readonly known = new Map<number, QuestionTree>();
  private readonly texts: [string, string][];

  /** `shown`: how to show a token id, and its kind of cell. */
  constructor(
    private readonly trait: TreeTrait,
    readonly teachers: number,
    shown: (id: number) => [string, string],
  ) {
    const { endings, ids } = trait.meta;
    if (endings.join() !== ENDINGS.join())
      throw new CodecError(`endings: ${endings.join(", ")} found, ${ENDINGS.join(", ")} expected`);
    this.texts = ids.map(shown);
  }

  get meta(): TreeTrait["meta"] {
    return this.trait.meta;
  }

  /** The same index gives the same tree. */
  question(index: number): QuestionTree {
    let tree = this.known.get(index);
    if (!tree) {
      tree = new QuestionTree(this.read(this.trait.meta.questions[index], this.trait.questions[index]), this.texts);
      this.known.set(index, tree);
    }
    return tree;
  }

  private read(size: TreeQuestionMeta, from: TreeQuestionTrait): TreeArrays {
    const tokens = this.trait.meta.token_bytes === 2 ? uint16 : uint32;
    return {
      parent: int32(from.parent, size.places, "parent"),
      depth: int32(from.depth, size.places, "depth"),
      tokens: tokens(from.tokens, size.tokens, "tokens"),
      leaf: int32(from.leaf, size.rollouts, "leaf"),
      begin: int32(from.begin, size.rollouts, "begin"),
      ending: uint8(from.ending, size.rollouts, "ending"),
      estimatePlace: int32(from.estimate_place, size.estimates, "estimate_place"),
      estimateAtNode: uint8(from.estimate_at_node, size.estimates, "estimate_at_node"),
      estimates: float32(from.estimates, 3 * size.estimates, "estimates"),
      nodePlace: int32(from.node_place, size.nodes, "node_place"),
      alignments: float32(from.alignments, 3 * size.nodes * this.teachers, "alignments"),
      verdict: uint8(from.verdict, size.nodes * this.teachers, "verdict"),
    };
  }
}

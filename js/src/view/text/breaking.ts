/** Breaks a text into rows as wide as a place in the page, and knows when that must be done anew. */
import { pieces } from "../../core/breaks";
import { Shapes, type Wrapped, wrap } from "../../core/wrap";
import type { Cells } from "../../model/contract";
import { DomRuler } from "./ruler";

/** Pixels, where there is no layout yet: a cell that is hidden, or not in the page. */
const UNKNOWN_WIDTH = 640;

export class Breaking {
  /** Of the place, in whole pixels; 0 where there is no layout yet. */
  width = 0;
  private readonly ruler: DomRuler;
  private shapes: Shapes;

  /** `place`: where the text stands, as wide and in the type it is drawn in. */
  constructor(private readonly place: HTMLElement) {
    this.ruler = new DomRuler(place);
    this.shapes = new Shapes(this.ruler);
  }

  /** Takes the place's width and type. True where rows must be broken anew. */
  renew(): boolean {
    const width = Math.floor(this.place.getBoundingClientRect().width);
    const type = width > 0 && this.ruler.renew();
    if (type) this.shapes = new Shapes(this.ruler);
    if (width === this.width && !type) return false;
    this.width = width;
    return true;
  }

  rows(cells: Cells): Wrapped {
    this.ruler.prepare(cells, pieces);
    return wrap(cells, this.shapes, this.width || UNKNOWN_WIDTH);
  }
}

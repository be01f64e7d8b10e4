/** One rollout's text, coloured, with its scale and the way to its largest values. */
import { jumpBar } from "../view/jump_bar";
import { legend } from "../view/legend";
import { titleLine } from "../view/title_line";
import { tokenStrip } from "../view/token_strip";
import { compose } from "./compose";

export default compose("opd-token-strip", [legend, titleLine, tokenStrip, jumpBar]);

/** One rollout's text, coloured, with its scale and the way to its largest values. */
import { legend } from "../view/legend";
import { reader } from "../view/text/reader";
import { titleLine } from "../view/text/title_line";
import { compose } from "./compose";

export default compose("opd-token-strip", [legend, titleLine, reader], ["text", "find"]);

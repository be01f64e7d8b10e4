/** The selected token alone. */
import { tokenPanel } from "../view/explorer/token_panel";
import { compose } from "./compose";

export default compose("opd-token-panel", [tokenPanel], []);

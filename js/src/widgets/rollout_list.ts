/** The list of rollouts alone. */
import { rolloutList } from "../view/explorer/rollout_list";
import { compose } from "./compose";

export default compose("opd-rollout-list", [rolloutList], ["rollouts", "list"]);

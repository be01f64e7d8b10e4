/** The generation tree of a diagnosis. It reads only what it was given: branches open without Python. */
import type { AnyWidget } from "@anywidget/types";
import type { TreeSelection } from "../model/tree_contract";
import { treeView } from "../view/tree/tree_view";
import { mount } from "./mount";
import { treeKind } from "./tree_source";

const widget: AnyWidget<TreeSelection> = {
  render: (props) => mount(props, treeKind, ({ root, actions }) => treeView(root, actions)),
};

export default widget;

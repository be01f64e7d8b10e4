"""A diagnosis in JupyterLab: tree, alignment, the text with its scores and a chart of its nodes, linked."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser.jupyter import run_all
from tests.browser.kernel import ask, notebook

# Scored and diagnosed in the test: the notebook needs no model.
OPEN = """import altair as alt
import opd_widgets as opd
alt.JupyterChart.enable_offline()
result = opd.load_diagnosis({result!r})
scores = opd.load({scores!r})"""
LINK = """explorer, alignment, tree = opd.Explorer(scores), opd.AlignmentView(result), opd.TreeView(result)
one, other = opd.Explorer(scores), opd.Explorer(scores)
table = result.nodes[["question", "node", "teacher", "depth", "alignment"]]
pick = alt.selection_point(name="pick", fields=["question", "node", "teacher"])
follows = [alt.param(name="teacher", value=""), alt.param(name="node", value=-1.0)]
marks = alt.Chart(table, width=420, height=160).mark_rect().encode(
    x=alt.X("node:O", axis=None), y=alt.Y("teacher:N", axis=None),
    opacity=alt.condition(pick, alt.value(1), alt.value(0.5)))
chart = alt.JupyterChart(marks.add_params(pick, *follows))
selection = opd.link(explorer, alignment, tree, chart)
explorer"""
# Where every view is, by names that all have; and that in Python they are at one.
PLACES = """[selection.place, [[v.question, v.rollout, v.token, v.node] for v in (alignment, tree)],
  [scores.rollouts[explorer.rollout].question, scores.rollouts[explorer.rollout].id, explorer.token],
  [v.teacher for v in (explorer, alignment, tree)]]"""
# The frame of a write and the way to the kernel and back.
SETTLED_MS = 400


class Linked:
    """The views on the page."""

    def __init__(self, page, errors):
        self.page, self.errors = page, errors
        explorers = page.locator(".opd-explorer")
        self.explorer, self.one, self.other = (explorers.nth(at) for at in range(3))
        self.alignment, self.tree = page.locator(".opd-alignment-view"), page.locator(".opd-tree-view")
        self.marks = page.locator(".vega-embed [aria-roledescription='rect mark']")
        for root in (self.explorer, self.one, self.other):
            root.locator(".opd-strip .opd-cell").first.wait_for()
        self.alignment.locator(".opd-strip .opd-cell").first.wait_for()
        self.tree.locator(".opd-tree-row").first.wait_for()
        self.marks.first.wait_for()

    def ask(self, expression):
        self.page.wait_for_timeout(SETTLED_MS)
        return ask(self.page, expression)

    def busy(self, seconds):
        """Keep the kernel busy; nothing waits for it."""
        self.page.evaluate(
            """(code) => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
                 .requestExecute({ code })""",
            f"import time; time.sleep({seconds})",
        )

    def token(self, root):
        """The selected token of a text, as shown; -1 is none."""
        chosen = root.locator('.opd-strip [aria-selected="true"]')
        return int(chosen.first.get_attribute("data-cell")) if chosen.count() else -1

    def expect_place(self, root, token, timeout=5000):
        expect(root.locator('.opd-strip [aria-selected="true"]').first).to_have_attribute(
            "data-cell", str(token), timeout=timeout
        )

    def assert_at_one(self):
        """Python's views are all at the selection; returns it."""
        place, diagnosed, [question, rollout, token], teachers = self.ask(PLACES)
        want = [place["question"], place["rollout"], place["token"]]
        assert [question, rollout, token] == want
        assert diagnosed[0] == diagnosed[1]
        assert diagnosed[0][:3] == want
        if place["node"] is not None:  # an Explorer knows none
            assert diagnosed[0][3] == place["node"]
        assert teachers == [place["teacher"]] * 3
        return place


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A diagnosis and the scores along it, on disk."""
    folder = tmp_path_factory.mktemp("diagnosis")
    lab = opd.demo(questions=2, rollouts=3)
    given = {"verifier": lab.verifier, "budget": 3000, "batch_rows": 32, "seed": 0, "progress": False}
    result = opd.diagnose(lab.questions, lab.student, lab.teachers, **given)
    scores = result.along(opd.score(result.rollouts(), lab.student, lab.teachers, progress=False))
    return {"result": str(result.save(folder / "result")), "scores": str(scores.save(folder / "scores"))}


@pytest.fixture
def linked(lab_page, tmp_path, saved):
    shown = ["alignment", "tree", "chart", "one", "other"]
    page, errors = lab_page(notebook(tmp_path / "diagnosis.ipynb", OPEN.format(**saved), LINK, *shown))
    run_all(page)
    return Linked(page, errors)


def row_of(linked, node):
    """The row of the tree that ends with a node."""
    name = linked.tree.locator(f'.opd-tree-row[aria-label*="node {node},"]')
    return name.first


def test_a_place_anywhere_is_selected_everywhere(linked):
    page = linked.page
    # the rows in sight that end with a node; the deepest of them
    titles = linked.tree.locator(".opd-tree-mark[title^='node ']").evaluate_all("marks => marks.map((m) => m.title)")
    node = max(int(title.removeprefix("node ").partition(",")[0]) for title in titles)
    row_of(linked, node).click()
    place = linked.assert_at_one()
    assert place["node"] == node
    depth = linked.ask(f"len(result.evidence[result.questions.index({place['question']!r})].nodes.prefixes[{node}])")
    assert place["token"] == depth
    for root in (linked.explorer, linked.alignment):
        linked.expect_place(root, depth)
    assert linked.ask("[chart.params.node, one.token, other.token]") == [node, -1, -1]

    # a teacher, in the alignment; while the kernel is busy for longer than this part takes
    linked.busy(6)
    linked.alignment.locator(".opd-strip").focus()
    page.keyboard.press("3")
    for root in (linked.explorer, linked.alignment, linked.tree):
        expect(root.locator('[role="radio"][aria-checked="true"]').filter(has_text="Self-1C").first).to_be_visible(
            timeout=2000
        )
    # and another row of the tree, by key
    linked.tree.locator(".opd-tree").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(200)
    moved = linked.token(linked.explorer)
    assert moved >= 0
    linked.expect_place(linked.alignment, moved, timeout=2000)
    assert linked.ask("(one.teacher, other.teacher)") == ["Teacher", "Teacher"]
    assert linked.assert_at_one()["teacher"] == "Self-1C"

    # a token of the Explorer brings the node that stands there
    at = linked.ask(
        "[int(i) for i in __import__('numpy').flatnonzero(alignment._nodes_of(alignment.question,"
        " alignment.rollout) >= 0)]"
    )
    target = next(token for token in at if token != moved)
    linked.explorer.locator(f'.opd-strip [data-cell="{target}"]').first.click()
    assert linked.assert_at_one()["token"] == target
    stands = "int(alignment._nodes_of(alignment.question, alignment.rollout)[alignment.token])"
    assert linked.ask(f"alignment.node == tree.node == chart.params.node == {stands} >= 0")

    # Python says, and all are there
    question, last = "result.questions[1]", "len(result.evidence[1].nodes) - 1"
    wanted = linked.ask(f"[{question}, {last}]")
    linked.ask(f"setattr(alignment, 'question', {wanted[0]!r}) or setattr(alignment, 'node', {wanted[1]})")
    place = linked.assert_at_one()
    assert [place["question"], place["node"]] == wanted
    assert linked.errors == []


def test_a_chart_of_nodes_selects_everywhere(linked):
    linked.marks.and_(linked.page.get_by_label("node: 7; teacher: Self-1C", exact=True)).last.click()
    place = linked.assert_at_one()
    chosen = linked.ask("chart.selections.pick.value[-1]")
    names = ("question", "node", "teacher")
    assert [place[name] for name in names] == [chosen[name] for name in names]
    linked.expect_place(linked.explorer, place["token"])
    linked.expect_place(linked.alignment, place["token"])
    assert linked.errors == []


def test_two_explorers_are_apart(linked):
    state = "[[v.rollout, v.token, v.teacher] for v in (one, other, explorer)]"
    before = linked.ask(state)[2]
    linked.one.locator('.opd-strip [data-cell="2"]').first.click()
    linked.page.keyboard.press("2")
    linked.other.locator('.opd-strip [data-cell="5"]').first.click()
    linked.page.keyboard.press("3")
    linked.page.keyboard.press("j")
    said = linked.ask(state)
    assert said[0] == [0, 2, "Other style"]
    assert said[1][0::2] == [1, "Self-1C"]
    assert said[2] == before
    linked.expect_place(linked.one, 2)
    assert linked.token(linked.explorer) == before[1]
    assert linked.errors == []

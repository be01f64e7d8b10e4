"""Every public view, made once: of the bundled lab, and of text that would like to be markup or to turn its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import opd_widgets as opd
from opd_widgets.data.piece import Piece
from opd_widgets.data.retokenise import render_ids
from tests import tiny
from tests.diagnosis import toy_run
from tests.reader_cases import records

if TYPE_CHECKING:
    from opd_widgets.widgets._base import OpdWidget

RUNS = "document.title='run'"
# By kind; every one holds what would show if it were parsed, or what would move its neighbours if it were obeyed.
MARKUP = [
    f'<img src=x onerror="{RUNS}">', f"</script><script>{RUNS}</script>", "<!--<script>", "]]>", "&lt;b&gt;",
    f"<svg onload={RUNS}>", f'" onmouseover="{RUNS}', f"javascript:{RUNS}", "</style><style>*{display:none}</style>",
    f"{{{{constructor.constructor('{RUNS}')()}}}}", "<b>bold</b>", "__proto__", "constructor", "url(//evil.invalid/x)",
]  # fmt: skip
TURNING = ["\u202eabc\u0000", "שלום", " مرحبا", "\u2066x", "\u2069", "\u200f", "abc\u202d", "123 שלום 456"]
WIDE = [
    "深層学習は難しい",
    "한국어",
    "👩\u200d👩\u200d👧\u200d👦",
    "🏳️\u200d🌈",
    "👍🏽",
    "e\u0301\u0301\u0301",
    "\u0301",
]
CONTROLS = ["\u0000", "\x1b[31m", "\u2028", "\u2029", "\u200b", "\ufeff", "\t", "\n", "\r\n", " ", "\n\n", "a\nb"]
LONG = ["x" * 10_000, "長" * 300]
TEXTS = [*MARKUP, *TURNING, *WIDE, *CONTROLS, *LONG]
FILES = ("html_in_tokens.jsonl", "rtl_cjk_controls.jsonl")
READ = [piece for name in FILES for piece in records(name)[0]["response_tokens"]]


# A name in every place that takes one: markup, and an override that is never closed.
BAD = f"<img src=x onerror={RUNS}>\u202eשלום</script>"
TEACHERS = (f"<b>t</b>\u202e{'長い名前' * 20}", f"2{BAD}")
MAKES: dict[str, Callable[[opd.Scores, opd.Scores], OpdWidget]] = {
    "Explorer": lambda scores, _: opd.Explorer(scores, token=3),
    "TokenStrip": lambda scores, _: opd.TokenStrip(scores, token=3),
    "RolloutList": lambda scores, _: opd.RolloutList(scores),
    "TokenPanel": lambda scores, _: opd.TokenPanel(scores, token=3),
    "Compare teachers": lambda scores, _: opd.Compare(scores, across="teachers", token=3),
    "Compare rollouts": lambda scores, _: opd.Compare(scores, across="rollouts", token=3),
    "Compare steps": lambda scores, later: opd.Compare({100: scores, 200: later}, across="steps", token=3),
}
OF_DIAGNOSIS = ("AlignmentView", "TreeView", "ProgressView")
NAMES = (*MAKES, *OF_DIAGNOSIS)


def plain(name: str) -> OpdWidget:
    """Return a view of the bundled lab."""
    if name in MAKES:
        return MAKES[name](*_scores())
    run = _run()
    return _of_diagnosis(name, run, run.result)


def hostile(name: str) -> OpdWidget:
    """Return a view whose texts, names, contexts, notes and messages are all hostile."""
    if name in MAKES:
        return MAKES[name](*_hostile_scores())
    run = _hostile_run()
    pieces = {str(i): text for i, text in enumerate([BAD, *TURNING[:2], MARKUP[1], WIDE[2]])}
    about = {**run.result.about, "pieces": pieces, "student": BAD, "notes": [BAD]}
    return _of_diagnosis(name, run, replace(run.result, about=about))


def root(name: str) -> str:
    """Return the selector of a view's root."""
    words = name.partition(" ")[0]
    return ".opd-" + "".join(f"-{c.lower()}" if c.isupper() else c for c in words).removeprefix("-")


def _of_diagnosis(name: str, run: opd.ProgressView, result: opd.Diagnosis) -> OpdWidget:
    if name == "ProgressView":
        return run
    view: Any = getattr(opd, name)(result)
    view.node = 0
    return view  # type: ignore[no-any-return]


@cache
def _scores() -> tuple[opd.Scores, opd.Scores]:
    lab = opd.demo(questions=3, rollouts=3)
    both = [
        opd.score(lab.rollouts, student, lab.teachers, progress=False)
        for student in (lab.student, lab.teachers["Teacher"].model)
    ]
    return both[0], both[1]


@cache
def _run() -> opd.ProgressView:
    lab = opd.demo(questions=2, rollouts=2)
    run = opd.ProgressView(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=3000)
    run.wait()
    return run


@cache
def _hostile_scores() -> tuple[opd.Scores, opd.Scores]:
    ids = list(range(6, 6 + len(TEXTS)))
    messages = [opd.Message("user", "".join(TEXTS[:20])), opd.Message(BAD, BAD)]
    asked = render_ids(messages, tiny.model(0, limit=4096).tokenizer, {})
    rollouts = [
        opd.Rollout(
            id=f"{index}{BAD}", prompt_ids=asked, response_ids=order, question=BAD if index < 2 else "שאלה\u202e",
            messages=messages,
            outcome="incorrect" if index else "correct", metadata={BAD: BAD}, step=index,
        )
        for index, order in enumerate([ids, [*ids[:9], *ids[::-1]], ids[::2]])
    ]  # fmt: skip
    contexts = [opd.contexts.free_text("".join(TEXTS[:20])), opd.contexts.hint(BAD)]
    teachers = {
        name: opd.Teacher(tiny.model(1 + at, limit=4096), context)
        for at, (name, context) in enumerate(zip(TEACHERS, contexts, strict=True))
    }
    pieces = {i: Piece.from_text(text) for i, text in zip(ids, TEXTS, strict=True)}
    made = []
    for seed in (0, 4):
        scores = opd.score(rollouts, tiny.model(seed, limit=4096), teachers, progress=False)
        made.append(replace(scores, pieces={**scores.pieces, **pieces}, student=BAD, notes=(BAD,)))
    return made[0], made[1]


@cache
def _hostile_run() -> opd.ProgressView:
    """Return a run that failed with a hostile message after it had bought something."""
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise RuntimeError(BAD)

    questions = [opd.Question(f"{at}{BAD}", BAD + "長い問題" * 40, answer="0") for at in range(2)]
    teachers = {name: toy_run.speaker(at + 1) for at, name in enumerate(TEACHERS)}
    given = {"verifier": toy_run.even, "budget": 1500, "max_new_tokens": 6, "batch_rows": 32, "rounds": 6}
    run = opd.ProgressView(questions, toy_run.speaker(0), teachers, checkpoint=stop, **given)
    try:
        run.wait()
    except RuntimeError as error:
        if str(error) != BAD:
            raise
    return run

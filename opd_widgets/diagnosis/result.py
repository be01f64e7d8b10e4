"""What a diagnosis found: every table is made from the evidence, under settings that can be changed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from opd_widgets.diagnosis.along_scores import along_scores
from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.initial_rollouts import initial_rollouts
from opd_widgets.diagnosis.policies.policy_of import Speaker
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.run.save import save_diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.best import best_by_node, best_by_question
from opd_widgets.diagnosis.tables.candidate_table import CANDIDATE_COLUMNS, candidate_columns
from opd_widgets.diagnosis.tables.correlations import correlations
from opd_widgets.diagnosis.tables.crossfit import crossfit_sums
from opd_widgets.diagnosis.tables.node_table import NODE_COLUMNS, node_columns
from opd_widgets.diagnosis.tables.permuted import check_seed, null_of
from opd_widgets.diagnosis.tables.recommend import Recommendation, recommend
from opd_widgets.diagnosis.tables.result_text import as_text
from opd_widgets.diagnosis.tables.sampled_rows import MinillmCost
from opd_widgets.diagnosis.tables.sampled_tables import dr_grpo_table, minillm_table, minillm_total
from opd_widgets.diagnosis.tables.selective import THRESHOLDS, selective
from opd_widgets.diagnosis.tables.spelling import Spelling
from opd_widgets.diagnosis.tables.summary import summarise
from opd_widgets.diagnosis.tables.table_files import write_csv, write_parquet
from opd_widgets.diagnosis.tables.tally import Tally, bin_of
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from opd_widgets.data.question import Question
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scores import Scores
    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.evidence import Evidence

Table = Literal["nodes", "candidates"]


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Evidence of every question, and what it says under some settings. All tables are made on first use.

    Example:
        >>> result = opd.diagnose(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=50_000)
        >>> result.summary()
        >>> result.with_settings(loss="forward_kl").summary(by=("teacher", "question"))

    Every number stands on a finite number of rollouts: take its interval with it.

    Args:
        evidence: one record a question, all with the same teachers.
        settings: how it is read.
        about: where it comes from, as plain values: "student" (its name), "notes" (what a reader must be told),
            "pieces" (text by token id), "special" (ids of special tokens), "titles" (text by question id), and
            whatever the run adds.
        held_out: by question id, on-policy rollouts that took no part in P_succ, for `dr_grpo()`.

    Raises:
        InvalidInputError: a question twice, or questions with unlike teachers.

    """

    evidence: tuple[Evidence, ...]
    settings: DiagnosisSettings = field(default_factory=DiagnosisSettings)
    about: Mapping[str, Any] = field(default_factory=dict)
    held_out: Mapping[str, tuple[Drawn, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what no table can be made of."""
        object.__setattr__(self, "evidence", tuple(self.evidence))
        names = [one.question for one in self.evidence]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"found question {twice[0]!r} more than once, expected one record of evidence for each question"
            raise InvalidInputError(msg)
        for one in self.evidence:
            if one.nodes.teachers != self.evidence[0].nodes.teachers:
                msg = (
                    f"found teachers {list(one.nodes.teachers)} at question {one.question!r} and "
                    f"{list(self.evidence[0].nodes.teachers)} at {names[0]!r}, expected the same in the same order"
                )
                raise InvalidInputError(msg)

    def __repr__(self) -> str:
        """Say what is inside, in one line."""
        return f"Diagnosis({self._heading})"

    @property
    def teachers(self) -> tuple[str, ...]:
        """Names of the teachers."""
        return self.evidence[0].nodes.teachers if self.evidence else ()

    @property
    def questions(self) -> tuple[str, ...]:
        """Ids of the questions."""
        return tuple(one.question for one in self.evidence)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Each question read from all its rollouts."""
        return tuple(Reading.of(one, self.settings) for one in self.evidence)

    @property
    def nodes(self) -> pd.DataFrame:
        """One row a node and teacher, as a table of your own.

        Columns: `question`; `node`, its row in the question's nodes; `depth`, tokens before it; `prefix`, those as
        text, or ids where the text is not known; `teacher`; `n_support`, tokens of the support K; `student_mass` and
        `teacher_mass`, p_S(K) and p_T(K); `verdict`, "" or why there is no alignment to average (see
        `verdict.verdicts`).

        `alignment` is the posterior median of the cosine, `alignment_low` and `alignment_high` the ends of its
        interval, `alignment_mean` the posterior mean, which may lie outside a narrow interval where a few draws point
        the other way; `alignment_plugin` the cosine at the estimate of P_succ itself (`success_estimate` below): rough,
        for "backup" now and then of the other sign than `alignment`, there to compare estimators with and not to be
        read; `p_positive` the probability that it is above 0, `single_sample` E_y[cos] of single-sample distillation at
        the posterior mean of P_succ; `ideal_norm` and `distillation_norm` the Euclidean norms of both gradients on K
        there, for a cosine has no length: where a norm is next to nothing, so is what the node does. They are NaN
        unless the verdict is "", so that a mean of a column takes in no node that points outside its support: the
        median on K of such a node is in `alignment_on_support`. `teacher_advantage` and `success_range`, posterior
        means with intervals, are there for nodes without a signal too. `success` is V, the student's success from the
        node on: the posterior mean, over all candidates.

        `reverse_kl`, `forward_kl`, `jsd`, `student_entropy`, `teacher_entropy`: nats, over the whole vocabulary.
        `visits`, on-policy initial rollouts through the node, and of those `correct`, `incorrect`, `truncated` and
        `unverified`: each is one of the four. `targeted`: rollouts that were forced to one of the node's candidates.
        """
        return self._node_table.copy()

    @property
    def candidates(self) -> pd.DataFrame:
        """One row a node, candidate and teacher, as a table of your own.

        Columns: `question`, `node`, `token_id`, `token` (its text, or the id), `teacher`; `visits`, rollouts that the
        estimate counts; `in_support`; `success`, P_succ: for "backup" the posterior mean, for "on_policy" and "pooled"
        the share of correct rollouts, NaN without a visit; `success_low`, `success_high` and `success_mean`, of the
        posterior (a mean may lie outside, where a few draws are far from all others); `success_estimate`, the estimate
        by name (that of "backup" is without bias and rougher: it may lie outside 0 to 1 and outside the interval; NaN
        without a visit); `success_if_wrong` and `success_if_right`, what `success` would be with all truncated and
        unverified rollouts wrong or right, and never on its other side; `student_logprob`, `teacher_logprob`, nats, not
        renormalised; `ideal_gradient` and `distillation_gradient` at the posterior mean on K, NaN outside it, the ideal
        one also where no outcome on K differs from another.
        """
        return self._candidate_table.copy()

    def summary(self, by: Sequence[str] = ("teacher", "outcome")) -> pd.DataFrame:
        """Return means over nodes, each with the interval of `settings.level`.

        A node counts as often as initial rollouts pass it; forced ones do not count. `outcome` is that of these
        rollouts: "correct", "incorrect" (truncated ones are), and "all" of both; unverified ones are in none. The
        rollouts that count a node take no part in its estimate there: one half of the initial ones counts, the other
        half and the targeted ones estimate, both ways.

        Columns: those of `by`; `n_questions`; `n_nodes`, nodes with an alignment; `n_undefined`, without a signal, in
        `mean_teacher_advantage` alone; `n_outside`, that point outside the support, and `n_few_visits`: in no mean;
        `weight`, rollouts behind the counted nodes; `mean_cosine`, `share_positive` (above 0), `weighted_cosine` (by
        success range as well) and `mean_teacher_advantage`, each a posterior mean with `_low` and `_high`; `interval`,
        what these intervals hold. They come from replicates in which questions are drawn with replacement, each with
        one draw of P_succ and of the weights: every initial rollout weighs anew (a Bayesian bootstrap), for which
        nodes they pass, and how often, is chance too. With one question they say nothing about other questions. A
        dozen questions or fewer make a bootstrap rough. A mean of nothing is NaN.

        Args:
            by: "teacher" and any of "outcome", "question", "depth"; depths in bins 0, 1, 2-3, 4-7, ... Without
                "outcome", all rollouts count.

        Raises:
            InvalidInputError: something else in `by`, the same twice, or no "teacher".

        """
        return summarise(self._tallies, [one.evidence.question for one in self._read], self.teachers, self.settings, by)

    def best_teacher(self, by: Literal["question", "node"] = "question") -> pd.DataFrame:
        """Return the teacher with the largest posterior mean at each question, or node, and how sure that is.

        Compared is the mean cosine over the question's nodes, as in `summary(by=("teacher", "question"))`, or the
        node's alignment. Beware the winner's curse: the largest of several uncertain numbers is likely to be one that
        came out too large, so the winner's mean overstates what it would show on new rollouts, the more so at a node.
        Read `probability` first. The best of bad teachers is bad: look whether its interval lies above 0. Teachers are
        compared over the nodes where each has an alignment, and these differ. The mean ranks, as in `summary`; its
        interval is of quantiles of draws, and where those are skewed and narrow the mean may lie outside.

        Columns: `question` (and `node`, `depth`, `prefix`); `n_teachers`, how many have a value; `teacher`; its
        `mean_cosine` or `alignment`, a posterior mean, with `_low` and `_high`; `probability`, the share of joint
        draws in which it is the largest, where n that are equal count 1/n each; `n_tied`, how many have that mean;
        `runner_up` and its mean; `lead` over it with `_low` and `_high`, by joint draws; by question also `n_nodes`
        behind the winner. Nodes at which no teacher has an alignment are left out; a question has "" there.

        Args:
            by: "question" or "node".

        Raises:
            InvalidInputError: another `by`.

        """
        if by == "question":
            questions = [one.evidence.question for one in self._read]
            return best_by_question(self._tallies, questions, self.teachers, self.settings)
        if by == "node":
            return best_by_node(self._read, self.teachers, self.settings, self._spelling)
        msg = f"found by={by!r}, expected 'question' or 'node'"
        raise InvalidInputError(msg)

    def recommend(self) -> Recommendation:
        """Return which teacher or context to distil from, on which rollouts, and how sure that is; see `recommend`."""
        return recommend(self._tallies, self.teachers, self.settings, len(self.evidence))

    def selective(self, thresholds: Sequence[float] = THRESHOLDS, null_seed: int | None = None) -> pd.DataFrame:
        """Return what keeping nodes by their alignment would gain: an oracle, with its null; see `selective`."""
        return selective(self.evidence, self.settings, thresholds, null_seed)

    def correlations(self) -> pd.DataFrame:
        """Return how divergences and entropies go with alignment over nodes; see `correlations`."""
        return correlations(self.readings, self.settings)

    def permuted(self, seed: int | None = None) -> Diagnosis:
        """Return the null: the same tree with outcomes permuted over each question's distinct responses.

        Over all rollouts a teacher's mean cosine is then by chance. Split by outcome it is no null of zero: a response
        that was dealt "correct" lends its success to its own tokens, and is itself one of the correct rollouts. Hold
        "correct" and "incorrect" against the same rows of the null, not against 0.

        Args:
            seed: of the permutation; that of the settings by default.

        Raises:
            InvalidInputError: a seed below 0, or no whole number.

        """
        check_seed(seed, self.settings)
        made = tuple(null_of(one, self.settings, seed) for one in self.evidence)
        return Diagnosis(made, self.settings, {**self.about, "notes": ["outcomes are permuted: a null"]})

    def dr_grpo(self, group: int = 8) -> pd.DataFrame:
        """Return how Dr. GRPO's gradient of a group lies to the ideal one, from the held-out rollouts.

        Columns are those of `sampled_rows.dr_grpo_rows`.

        Raises:
            InvalidInputError: there are none: `opd.diagnose(..., held_out=64)` draws them; or a group of fewer than 2.

        """
        return dr_grpo_table(self.evidence, self.settings, self.held_out, group)

    def minillm_cost(self) -> MinillmCost:
        """Return what `minillm` costs each teacher, over all questions."""
        return minillm_total(self.evidence)

    def minillm(self, questions: Sequence[Question], student: Speaker, teachers: Mapping[str, Speaker]) -> pd.DataFrame:
        """Return the alignment of MiniLLM's gradient at each node, from the same tree.

        Student and teachers read every distinct rollout whole for it: `minillm_cost()` says how much that is. Columns
        are those of `sampled_rows.minillm_rows`.

        Args:
            questions: those of the diagnosis.
            student: who it is of.
            teachers: some or all of its teachers, by name.

        Raises:
            InvalidInputError: a question or teacher of the diagnosis is missing, or unknown to it.

        """
        return minillm_table(self.evidence, self.settings, questions, student, teachers)

    def rollouts(self) -> list[Rollout]:
        """Return the initial rollouts as `opd.score` takes them; see `initial_rollouts`."""
        return initial_rollouts(self.evidence, self.about)

    def along(self, scores: Scores) -> Scores:
        """Return scores with the signal `alignment` at the rollouts' nodes; see `along_scores`."""
        return along_scores(self.readings, self.teachers, scores)

    def save(self, folder: str | Path) -> Path:
        """Write the evidence to a new folder, which `opd.load_diagnosis` opens; held-out rollouts go with it.

        Raises:
            InvalidInputError: something is there already.

        """
        return save_diagnosis(self.evidence, self.about, folder, self.settings, self.held_out)

    @property
    def truncated_share(self) -> float:
        """Share of all rollouts that the length limit cut; they count as not correct. NaN without rollouts."""
        return self._share(lambda drawn: drawn.truncated)

    @property
    def unverified_share(self) -> float:
        """Share of all rollouts without a verdict; they count nowhere. NaN without rollouts."""
        return self._share(lambda drawn: drawn.outcome == UNVERIFIED)

    def with_settings(self, **changes: Any) -> Diagnosis:
        """Return the same evidence read otherwise, such as `with_settings(estimator="pooled", loss="jsd")`.

        Raises:
            InvalidInputError: no such setting, or a value that it cannot have.

        """
        known = [one.name for one in fields(DiagnosisSettings)]
        unknown = [name for name in changes if name not in known]
        if unknown:
            msg = f"found setting {unknown[0]!r}, expected one of {', '.join(known)}"
            raise InvalidInputError(msg)
        return Diagnosis(self.evidence, replace(self.settings, **changes), self.about, self.held_out)

    def to_csv(self, path: str | Path, table: Table = "nodes") -> Path:
        """Write a table as CSV: "nodes" or "candidates".

        Raises:
            InvalidInputError: another table, or no file can be written there.

        """
        return write_csv(self._table(table), path)

    def to_parquet(self, path: str | Path, table: Table = "nodes") -> Path:
        """Write a table as Parquet: "nodes" or "candidates".

        Raises:
            InvalidInputError: another table, or no file can be written there.
            MissingDependencyError: pyarrow is not installed.

        """
        return write_parquet(self._table(table), path)

    def to_text(self) -> str:
        """Return what was found as plain text: a line a teacher."""
        shares = {"truncated": self.truncated_share, "unverified": self.unverified_share}
        heading = ", ".join([self._heading, *(f"{share:.1%} {name}" for name, share in shares.items() if share > 0)])
        notes = list(self.about.get("notes", ()))
        return as_text(
            heading, self.summary(), self.best_teacher(), notes, self.settings.level, asked=len(self.evidence)
        )

    @property
    def _heading(self) -> str:
        student = self.about.get("student")
        counts = {
            "question": len(self.evidence),
            "node": sum(len(one.nodes) for one in self.evidence),
            "teacher": len(self.teachers),
            "rollout": sum(len(one.rollouts) for one in self.evidence),
        }
        said = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()]
        read = f"{self.settings.estimator}, {self.settings.loss}"
        return ", ".join([*([f"student {student!r}"] if student else []), *said, read])

    @cached_property
    def _read(self) -> tuple[Reading, ...]:
        """Readings of the questions that have nodes."""
        return tuple(reading for reading in self.readings if len(reading.evidence.nodes))

    @cached_property
    def _tallies(self) -> tuple[Tally, ...]:
        bins = 1 + max((bin_of(int(one.evidence.nodes.depths.max())) for one in self._read), default=0)
        return tuple(Tally.of(crossfit_sums(one.evidence, self.settings), bins) for one in self._read)

    @cached_property
    def _spelling(self) -> Spelling:
        # JSON has texts for keys
        return Spelling({int(token): text for token, text in self.about.get("pieces", {}).items()})

    @cached_property
    def _node_table(self) -> pd.DataFrame:
        return self._joined(node_columns, NODE_COLUMNS)

    @cached_property
    def _candidate_table(self) -> pd.DataFrame:
        return self._joined(candidate_columns, CANDIDATE_COLUMNS)

    def _joined(self, columns: Callable[[Reading, Spelling], dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
        import pandas as pd  # half a second that a widget alone need not pay

        frames = [pd.DataFrame(columns(one, self._spelling)) for one in self._read if self.teachers]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(names))

    def _table(self, name: str) -> pd.DataFrame:
        tables: dict[str, Callable[[], pd.DataFrame]] = {
            "nodes": lambda: self._node_table,
            "candidates": lambda: self._candidate_table,
        }
        if name not in tables:
            msg = f"found table {name!r}, expected 'nodes' or 'candidates'"
            raise InvalidInputError(msg)
        return tables[name]()

    def _share(self, of: Callable[[Any], bool]) -> float:
        every = [drawn for one in self.evidence for drawn in one.rollouts]
        return sum(map(of, every)) / len(every) if every else float("nan")

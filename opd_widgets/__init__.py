"""On-policy distillation, token by token: score rollouts under several teachers and look at them.

torch and transformers load on first use of a local model, never on import.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opd_widgets.data.answers import with_answers
    from opd_widgets.data.message import Message
    from opd_widgets.data.question import Question
    from opd_widgets.data.questions import read_questions
    from opd_widgets.data.readers import read_rollouts
    from opd_widgets.data.readers.own import write_rollouts
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scores import Scores
    from opd_widgets.data.steps import Steps, load_steps
    from opd_widgets.data.store import load
    from opd_widgets.data.topk import TopK
    from opd_widgets.data.track import LogprobTrack, Provenance
    from opd_widgets.demo import load as demo
    from opd_widgets.diagnosis import verifiers
    from opd_widgets.diagnosis.diagnose import diagnose, diagnosis_cost
    from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
    from opd_widgets.diagnosis.result import Diagnosis
    from opd_widgets.diagnosis.run.stored import load_diagnosis
    from opd_widgets.diagnosis.settings import DiagnosisSettings
    from opd_widgets.diagnosis.spending import strategies as spending
    from opd_widgets.errors import OpdError
    from opd_widgets.measures import gradients
    from opd_widgets.measures.signal import SignalSettings
    from opd_widgets.models import contexts
    from opd_widgets.models.hf import HFModel
    from opd_widgets.models.protocol import Sampling
    from opd_widgets.models.server import ServerModel
    from opd_widgets.models.teacher import Teacher
    from opd_widgets.scoring.context_table import context_table
    from opd_widgets.scoring.contrast import contrast
    from opd_widgets.scoring.from_tracks import scores_from_tracks
    from opd_widgets.scoring.panel import Options
    from opd_widgets.scoring.recording.recorder import Recorder
    from opd_widgets.scoring.run import score_to
    from opd_widgets.scoring.sample import sample_rollouts
    from opd_widgets.scoring.score import score
    from opd_widgets.widgets.alignment_view import AlignmentView
    from opd_widgets.widgets.compare import Compare
    from opd_widgets.widgets.explorer import Explorer
    from opd_widgets.widgets.linking import link
    from opd_widgets.widgets.page import write_page
    from opd_widgets.widgets.progress_view import ProgressView
    from opd_widgets.widgets.rollout_list import RolloutList
    from opd_widgets.widgets.selection import Selection
    from opd_widgets.widgets.token_panel import TokenPanel
    from opd_widgets.widgets.token_strip import TokenStrip
    from opd_widgets.widgets.tree_view import TreeView

_HOME = {
    "AlignmentView": "widgets.alignment_view",
    "Compare": "widgets.compare",
    "Diagnosis": "diagnosis.result",
    "DiagnosisSettings": "diagnosis.settings",
    "Explorer": "widgets.explorer",
    "FunctionPolicy": "diagnosis.policies.function_policy",
    "HFModel": "models.hf",
    "LogprobTrack": "data.track",
    "Message": "data.message",
    "OpdError": "errors",
    "Options": "scoring.panel",
    "ProgressView": "widgets.progress_view",
    "Provenance": "data.track",
    "Question": "data.question",
    "Recorder": "scoring.recording.recorder",
    "Rollout": "data.rollout",
    "RolloutList": "widgets.rollout_list",
    "Sampling": "models.protocol",
    "Scores": "data.scores",
    "Selection": "widgets.selection",
    "ServerModel": "models.server",
    "SignalSettings": "measures.signal",
    "Steps": "data.steps",
    "Teacher": "models.teacher",
    "TokenPanel": "widgets.token_panel",
    "TokenStrip": "widgets.token_strip",
    "TopK": "data.topk",
    "TreeView": "widgets.tree_view",
    "context_table": "scoring.context_table",
    "contexts": "models.contexts",
    "contrast": "scoring.contrast",
    "demo": "demo",
    "diagnose": "diagnosis.diagnose",
    "diagnosis_cost": "diagnosis.diagnose",
    "gradients": "measures.gradients",
    "link": "widgets.linking",
    "load": "data.store",
    "load_diagnosis": "diagnosis.run.stored",
    "load_steps": "data.steps",
    "read_questions": "data.questions",
    "read_rollouts": "data.readers",
    "sample_rollouts": "scoring.sample",
    "score": "scoring.score",
    "scores_from_tracks": "scoring.from_tracks",
    "score_to": "scoring.run",
    "spending": "diagnosis.spending.strategies",
    "verifiers": "diagnosis.verifiers",
    "with_answers": "data.answers",
    "write_page": "widgets.page",
    "write_rollouts": "data.readers.own",
}

# public names that are modules; `demo` is one that can be called
_MODULES = (
    "contexts",
    "demo",
    "gradients",
    "spending",
    "verifiers",
)

__all__ = [
    "AlignmentView",
    "Compare",
    "Diagnosis",
    "DiagnosisSettings",
    "Explorer",
    "FunctionPolicy",
    "HFModel",
    "LogprobTrack",
    "Message",
    "OpdError",
    "Options",
    "ProgressView",
    "Provenance",
    "Question",
    "Recorder",
    "Rollout",
    "RolloutList",
    "Sampling",
    "Scores",
    "Selection",
    "ServerModel",
    "SignalSettings",
    "Steps",
    "Teacher",
    "TokenPanel",
    "TokenStrip",
    "TopK",
    "TreeView",
    "context_table",
    "contexts",
    "contrast",
    "demo",
    "diagnose",
    "diagnosis_cost",
    "gradients",
    "link",
    "load",
    "load_diagnosis",
    "load_steps",
    "read_questions",
    "read_rollouts",
    "sample_rollouts",
    "score",
    "score_to",
    "scores_from_tracks",
    "spending",
    "verifiers",
    "with_answers",
    "write_page",
    "write_rollouts",
]

try:
    __version__ = version("opd-widgets")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOME:
        msg = f"module 'opd_widgets' has no attribute {name!r}"
        raise AttributeError(msg)
    module = import_module(f"opd_widgets.{_HOME[name]}")
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted([*__all__, "__version__"])

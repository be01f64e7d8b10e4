"""Who is asked, and with what prompt."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.retokenise import render_ids
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy_of import policy_of
from opd_widgets.diagnosis.policies.served_policy import ServedPolicy
from opd_widgets.errors import ContextError, InvalidInputError
from opd_widgets.models.hf import HFModel
from tests import tiny
from tests.diagnosis.exact import Toy
from tests.models.stub_server import ServedModel, serving

QUESTION = opd.Question("q", "1+2=?", answer="3", solution="1+2=3")
STUDENT = tiny.model(0)


def same(policy, model, prompt):
    """Whether a policy is the model's after that prompt."""
    wanted = ModelPolicy(model, prompt).next_logprobs([(), (7, 8)])
    return np.allclose(policy.next_logprobs([(), (7, 8)]), wanted, atol=1e-5)


def test_a_model_is_asked_the_question():
    prompt = render_ids(QUESTION.messages, STUDENT.tokenizer, {})
    assert same(policy_of(STUDENT, QUESTION), STUDENT, prompt)
    rollout = opd.sample_rollouts([QUESTION], STUDENT, n=1, max_new_tokens=4)[0]
    assert prompt.tolist() == rollout.prompt_ids.tolist()  # what rollouts are drawn from


def test_a_teacher_sees_what_scoring_shows_it():
    rollout = opd.sample_rollouts([QUESTION], STUDENT, n=1, max_new_tokens=4)[0]
    teachers = {
        "plain": opd.Teacher(tiny.model(1)),
        "solution": opd.Teacher(STUDENT, context=opd.contexts.one_correct("1+2=3")),
        "answer": opd.Teacher(STUDENT, context=opd.contexts.free_text("it is 3")),
    }
    for teacher in teachers.values():
        prompt = teacher.prompt(rollout, student=STUDENT.tokenizer).ids
        assert same(policy_of(teacher, QUESTION, STUDENT), teacher.model, prompt)
        assert same(policy_of(teacher, QUESTION), teacher.model, prompt)  # the templates are the same
    assert not same(policy_of(teachers["answer"], QUESTION, STUDENT), STUDENT, rollout.prompt_ids)


def test_a_context_made_by_a_function_knows_question_and_answer():
    context = opd.contexts.free_text(lambda rollout: f"{rollout.question} is {rollout.metadata['answer']}")
    plain = opd.contexts.free_text("q is 3")
    prompt = opd.Teacher(STUDENT, context=plain).prompt(
        opd.Rollout(id="r", messages=QUESTION.messages, response_ids=[], question="q")
    )
    assert same(policy_of(opd.Teacher(STUDENT, context=context), QUESTION, STUDENT), STUDENT, prompt.ids)


def test_scores_of_a_rollout_are_those_at_its_nodes():
    teacher = opd.Teacher(tiny.model(1), context=opd.contexts.free_text("it is 3"))
    rollout = opd.sample_rollouts([QUESTION], STUDENT, n=1, max_new_tokens=8)[0]
    scores = opd.score([rollout], STUDENT, {"t": teacher}, progress=False)
    ids = np.asarray(rollout.response_ids)
    logp = policy_of(teacher, QUESTION, STUDENT).next_logprobs([ids[:depth] for depth in range(len(ids))])
    wanted = scores.items[0].teachers["t"].track.logprobs
    np.testing.assert_allclose(logp[np.arange(len(ids)), ids], wanted, atol=2e-5)


def test_a_policy_and_a_function_of_questions():
    toy = Toy(1, 4, 4).policy
    assert policy_of(toy, QUESTION) is toy
    asked = {"q": toy}
    assert policy_of(lambda question: asked[question.id], QUESTION) is toy
    prompt = render_ids(QUESTION.messages, STUDENT.tokenizer, {})
    assert same(policy_of(opd.Teacher(tiny.model(1)), QUESTION, toy), tiny.model(1), prompt)


def test_models_behind_servers():
    with serving(ServedModel(tiny.model(1))) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=STUDENT, retries=0)
        for who in (remote, opd.Teacher(remote)):
            policy = policy_of(who, QUESTION, STUDENT)
            assert isinstance(policy, ServedPolicy)
            local = policy_of(tiny.model(1), QUESTION).next_logprobs([(7,)])[0]
            top = policy.likeliest([(7,)], 0.05)
            np.testing.assert_allclose(top.logp[0], np.sort(local)[::-1][:20], atol=2e-5)


def other_tokenizer():
    pair = (tiny.qwen(1), tiny.tokenizer("zyxwvutsrqponmlkjihgfedcba 0123456789+-=?:;\n"))
    return HFModel(pair, device="cpu", name="spelled-otherwise")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: policy_of(opd.Teacher(other_tokenizer()), QUESTION, STUDENT),
            r"'spelled-otherwise' has another tokenizer than the student 'tiny-0': id 6 is 'z' there and 'a' here",
        ),
        (lambda: policy_of("Qwen/Qwen3-0.6B", QUESTION), "found str, expected a model"),
        (lambda: policy_of(STUDENT, "1+2=?"), "a question of type str"),
        (lambda: policy_of(str, QUESTION), "found str for question 'q'"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInputError, match=said):
        make()


def test_a_context_that_has_nothing_to_say_of_the_question():
    teacher = opd.Teacher(STUDENT, context=opd.contexts.one_correct({"other": "2+2=4"}))
    with pytest.raises(ContextError):
        policy_of(teacher, QUESTION, STUDENT)

"""What travels between browser and kernel: no message too large, and progress no oftener than ten times a second."""

from __future__ import annotations

from datetime import datetime

from playwright.sync_api import expect

from tests.browser import seen
from tests.browser.jupyter import run_all
from tests.browser.kernel import notebook

MOST_BYTES = 8 * 2**20
# One question, so many rollouts that scoring them again takes seconds.
ROLLOUTS = 120
LONG = f"""import opd_widgets as opd
lab = opd.demo(questions=1, rollouts={ROLLOUTS})
explorer = opd.Explorer(lab.rollouts, lab.student, {{"Self-1C": lab.teachers["Self-1C"]}})
explorer"""
LISTEN = """() => {
  window.opdHeard = [];
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  kernel.anyMessage.connect((_, { msg, direction }) => {
    const job = msg.content?.data?.state?.job;
    if (direction === "recv" && msg.header.msg_type === "comm_msg" && job) {
      window.opdHeard.push([msg.header.date, job.state, job.done]);
    }
  });
}"""
# A character that takes six bytes on its way; in lines, or the field itself takes the browser seconds.
HUGE = """(field) => {
  field.value = `${"\\u0001".repeat(79)}\\n`.repeat(2 ** 14 + 2 ** 11);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def test_progress_comes_at_most_ten_times_a_second_and_a_huge_text_stays_here(page, lab_page, tmp_path):
    sent: list[int] = []

    def watch(socket):
        socket.on("framesent", lambda payload: sent.append(len(payload)))

    page.on("websocket", watch)
    _, errors = lab_page(notebook(tmp_path / "wire.ipynb", LONG))
    run_all(page)
    root = seen.explorer(page)
    page.evaluate(LISTEN)
    field = root.locator("textarea.opd-context-text")
    status = root.locator(".opd-job-status")
    field.fill("Right: 1-2=3;3-4=5")
    status.filter(has_text="rescored in").wait_for(timeout=120_000)
    heard = page.evaluate("() => window.opdHeard")
    running = [datetime.fromisoformat(date).timestamp() for date, state, _ in heard if state == "running"]
    assert [state for _, state, _ in heard].count("done") == 1
    assert 2 <= len(running) < ROLLOUTS / 2, "there is progress, and not for every rollout"
    busiest = max(sum(1 for other in running if 0 <= other - moment < 1) for moment in running)
    print(f"{len(running)} messages in {running[-1] - running[0]:.2f} s, at most {busiest} in a second")  # noqa: T201
    assert busiest <= 10

    before, largest = seen.colours(root), len(sent)
    field.evaluate(HUGE)
    said = root.locator(".opd-context-error")
    expect(said).to_contain_text("at most 8.0 MiB can be sent to the kernel: shorten the text", timeout=120_000)
    assert said.inner_text().count("\n") == 0
    assert field.evaluate("(field) => field.value.length") == 80 * (2**14 + 2**11), "what was written is kept"
    assert seen.colours(root) == before
    assert sent, "frames are seen"
    assert max(sent) < MOST_BYTES
    assert max(sent[largest:], default=0) < 2**16
    # and a text that can be sent still is
    field.fill("Right: 1-2=3;3-4=6")
    status.filter(has_text="rescored in").wait_for(timeout=120_000)
    assert errors == []

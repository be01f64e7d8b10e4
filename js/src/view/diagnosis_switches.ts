/** The switches of a view of a diagnosis: which question, which teacher. */
import type { DiagnosisSelection } from "../model/diagnosis_contract";
import type { Found, Places } from "../model/places";
import { maker, setDisabled } from "./dom";
import { teacherSwitch } from "./teacher_switch";

export interface DiagnosisActions {
  select(change: Partial<DiagnosisSelection>): void;
}

/** What every view of a diagnosis is drawn from. */
export interface DiagnosisState extends Found {
  places: Places;
}

export interface DiagnosisView {
  update(state: DiagnosisState): void;
  destroy(): void;
}

/** Questions can be many and long: a menu, and a step either way. */
export function questionSwitch(root: HTMLElement, actions: DiagnosisActions): DiagnosisView {
  const h = maker(root);
  const life = new AbortController();
  const menu = h("select", { class: "opd-select", "aria-label": "Question" });
  const before = h("button", { type: "button", class: "opd-button", "aria-label": "Previous question" }, "‹");
  const after = h("button", { type: "button", class: "opd-button", "aria-label": "Next question" }, "›");
  const box = h("div", { class: "opd-question-switch" }, before, menu, after);
  root.append(box);
  let last: DiagnosisState | null = null;
  const choose = (index: number): void => {
    const question = last?.places.questions[index];
    if (question) actions.select({ question: question.id });
  };
  const step = (by: number) => (): void => choose((last?.question ?? 0) + by);
  menu.addEventListener("change", () => choose(menu.selectedIndex), { signal: life.signal });
  before.addEventListener("click", step(-1), { signal: life.signal });
  after.addEventListener("click", step(1), { signal: life.signal });
  return {
    update(state) {
      const { questions } = state.places;
      if (last?.places !== state.places) {
        menu.replaceChildren(...questions.map((q, i) => h("option", { value: String(i) }, q.title)));
        box.hidden = questions.length < 2;
      }
      last = state;
      menu.selectedIndex = state.question;
      setDisabled(before, state.question <= 0);
      setDisabled(after, state.question >= questions.length - 1);
    },
    destroy() {
      life.abort();
      box.remove();
    },
  };
}

export function diagnosisTeacherSwitch(root: HTMLElement, actions: DiagnosisActions): DiagnosisView {
  const control = teacherSwitch(root, (teacher) => actions.select({ teacher }));
  return {
    update: ({ places, teacher }) => control.show(places.teachers, places.teachers[teacher]?.name ?? ""),
    destroy: control.destroy,
  };
}

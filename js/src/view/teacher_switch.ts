/** Which teacher: a button each, with the number that chooses it. */
import { type Choice, segmented } from "./segmented";

export interface TeacherSwitch {
  show(teachers: readonly { name: string; description: string }[], current: string): void;
  destroy(): void;
}

export function teacherSwitch(root: HTMLElement, choose: (teacher: string) => void): TeacherSwitch {
  const life = new AbortController();
  const control = segmented(root, { label: "Teacher", data: "data-teacher", choose, signal: life.signal });
  control.node.classList.add("opd-teacher-switch");
  root.append(control.node);
  return {
    show(teachers, current) {
      const choices = teachers.map(({ name, description }, i): Choice => {
        const key = i < 9 ? String(i + 1) : undefined;
        return { value: name, label: name, title: description || undefined, key };
      });
      control.show(choices, current);
      control.node.hidden = choices.length === 0;
    },
    destroy() {
      life.abort();
      control.node.remove();
    },
  };
}

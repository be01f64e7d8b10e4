/** The top-k buffers of one token axis, read a row at a time. */
import type { TopRow } from "../core/topk";
import { float32, NO_ID, uint32 } from "./codec";
import type { TeacherTopBuffers } from "./contract";

export interface StudentTop {
  ids: Uint32Array;
  student: Float32Array;
}

export interface TeacherTop {
  ids: Uint32Array;
  teacher: Float32Array;
  student: Float32Array;
  atStudent: Float32Array;
}

export function readStudentTop(raw: { ids: DataView; student: DataView }, items: number): StudentTop {
  return {
    ids: uint32(raw.ids, items, "student_top.ids"),
    student: float32(raw.student, items, "student_top.student"),
  };
}

export function readTeacherTop(raw: TeacherTopBuffers, items: number, name: string): TeacherTop {
  const at = `teacher_top[${name}]`;
  return {
    ids: uint32(raw.ids, items, `${at}.ids`),
    teacher: float32(raw.teacher, items, `${at}.teacher`),
    student: float32(raw.student, items, `${at}.student`),
    atStudent: float32(raw.at_student, items, `${at}.at_student`),
  };
}

/** The student's likeliest tokens, with the teacher's view of them where there is one. Live tops have their own axis. */
function studentRows(top: StudentTop, row: number, k: number, other: TeacherTop | null, otherRow: number): TopRow[] {
  const rows: TopRow[] = [];
  for (let c = 0; c < k; c++) {
    const id = top.ids[row * k + c];
    if (id === NO_ID) continue;
    rows.push({
      id,
      student: top.student[row * k + c],
      teacher: other ? other.atStudent[otherRow * k + c] : Number.NaN,
    });
  }
  return rows;
}

function teacherRows(top: TeacherTop, row: number, k: number): TopRow[] {
  const rows: TopRow[] = [];
  for (let c = 0; c < k; c++) {
    const i = row * k + c;
    if (top.ids[i] !== NO_ID) rows.push({ id: top.ids[i], student: top.student[i], teacher: top.teacher[i] });
  }
  return rows;
}

export interface TopRows {
  student: TopRow[];
  teacher: TopRow[];
}

/** Both lists at one token; `other` is the teacher's, on its own axis. */
export function topRows(at: {
  student: StudentTop | null;
  row: number;
  other: TeacherTop | null;
  otherRow: number;
  k: number;
}): TopRows {
  const { student, row, other, otherRow, k } = at;
  return {
    student: student ? studentRows(student, row, k, other, otherRow) : [],
    teacher: other ? teacherRows(other, otherRow, k) : [],
  };
}

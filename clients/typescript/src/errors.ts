// The two errors of the client.

/** A problem document of Toolhost (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
}

/** The codes of problems of a call that may have run. */
const MAY_HAVE_RUN = ["cancelled", "gone"];

/** Toolhost refused the request, and a retry would not help. The message is the code and the detail. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** A word for programs, such as `input_mismatch`. */
  readonly code: string;
  readonly status: number;
  /** A sentence for people. It may change. */
  readonly detail: string;
  /** Whether an earlier attempt of the request may have been carried out, and its answer was lost. */
  afterLostAnswer = false;

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.code = problem.code;
    this.status = problem.status;
    this.detail = problem.detail;
  }

  /** Whether the call may have run all the same. */
  get mayHaveRun(): boolean {
    return MAY_HAVE_RUN.includes(this.code);
  }
}

/**
 * No answer came for too long. The request may have run, or may run now. A repeated call with the same id gets its
 * reply.
 */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

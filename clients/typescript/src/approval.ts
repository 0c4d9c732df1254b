// The approval hook: the request of Toolhost and the answer.

/** The question whether a call may run. */
export interface ApprovalRequest {
  /** The name of the token. */
  principal: string;
  chat: string | null;
  call: string | null;
  plugin: string;
  tool: string;
  hints: Record<string, unknown>;
  arguments: unknown;
}

/** The answer: anything but `approved: true` refuses. */
export interface ApprovalAnswer {
  approved: boolean;
  reason?: string;
}

/** Reads the body of a request of Toolhost. Throws if it is none. */
export function parseApproval(body: string): ApprovalRequest {
  const request = JSON.parse(body);
  if (typeof request?.tool !== "string" || typeof request?.principal !== "string") {
    throw new TypeError("the body is no request of an approval hook of Toolhost");
  }
  return request;
}

/** Returns the body of the answer with status 200. Without a reason, it approves. */
export function answerApproval(refusal?: string): string {
  const answer: ApprovalAnswer = refusal === undefined ? { approved: true } : { approved: false, reason: refusal };
  return JSON.stringify(answer);
}

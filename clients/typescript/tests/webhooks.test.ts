// Webhooks and the approval hook.

import assert from "node:assert/strict";
import test from "node:test";

import { Webhook } from "standardwebhooks";
import { InvalidSignature, answerApproval, parseApproval, verify } from "toolhost-client";

// The example of the specification of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const body = '{"test": 2432232314}';
const example = {
  "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const then = 1614265330_000;

test("the example of Standard Webhooks is valid", () => {
  assert.deepEqual(verify(secret, example, body, then), { test: 2432232314 });
  assert.deepEqual(verify(secret, new Headers(example), Buffer.from(body), then), { test: 2432232314 });
  const several = { ...example, "webhook-signature": `v1a,x v1,AAAA ${example["webhook-signature"]}` };
  assert.deepEqual(verify(secret, several, body, then), { test: 2432232314 });
});

test("the library of Standard Webhooks signs alike", () => {
  const now = new Date();
  const signature = new Webhook(secret).sign("id", now, body);
  const headers = {
    "webhook-id": "id",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": signature,
  };
  assert.deepEqual(verify(secret, headers, body), { test: 2432232314 });
});

test("other webhooks are not valid", () => {
  const wrong = (headers: Record<string, string>, text = body, now = then, key = secret) =>
    assert.throws(() => verify(key, { ...example, ...headers }, text, now), InvalidSignature);
  wrong({ "webhook-signature": "v1,AAAA" });
  wrong({ "webhook-signature": "" });
  wrong({ "webhook-signature": "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" });
  wrong({ "webhook-id": "other" });
  wrong({ "webhook-timestamp": "" });
  wrong({ "webhook-timestamp": "now" });
  wrong({}, `${body} `);
  wrong({}, body, then + 301_000);
  wrong({}, body, then - 301_000);
  wrong({}, body, then, "another secret, of a text");
});

test("the approval hook reads a request and answers", () => {
  const request = {
    principal: "support",
    chat: "c",
    call: "1.0",
    plugin: "shell",
    tool: "execute",
    hints: {},
    arguments: {},
  };
  assert.deepEqual(parseApproval(JSON.stringify(request)), request);
  assert.throws(() => parseApproval("{}"), TypeError);
  assert.deepEqual(JSON.parse(answerApproval()), { approved: true });
  assert.deepEqual(JSON.parse(answerApproval("not at night")), { approved: false, reason: "not at night" });
});

// A host for tests: it keeps in memory what a call sees and what the call told it.

import { Denied } from "../lib/errors.js";

/** Says that a test lacks a stand-in or an answer. No tool can take it for an error of the host. */
export class Missing extends Error {
  name = "Missing";
}

/** Returns surroundings with these fields; see `Surroundings` in testing.d.ts. */
export function makeSurroundings(fields = {}) {
  return {
    chat: "test-chat",
    workspaceRoot: "/workspace",
    remaining: 600,
    now: 0,
    cancelled: false,
    cancelledAfter: undefined,
    attributes: {},
    settings: {},
    secrets: {},
    logged: [],
    progress: [],
    processes: undefined,
    files: undefined,
    http: undefined,
    ...fields,
  };
}

let current = makeSurroundings();

export const surroundings = () => current;

/** Replaces the surroundings, and returns those before. */
export function replace(next) {
  const before = current;
  current = next;
  return before;
}

/** Returns the test's stand-in for `processes`, `files` or `http`. */
export function fake(name) {
  const found = current[name];
  if (found === undefined) throw new Missing(`the test has no ${name}: give some with withHost({ ${name}: … }, …)`);
  return found;
}

export const chat = () => current.chat;
export const workspaceRoot = () => current.workspaceRoot;
export const remainingMs = () => Math.max(Math.round((current.remaining - current.now) * 1000), 0);
export const cancelled = () => current.cancelled || current.now >= (current.cancelledAfter ?? Infinity);
export const attribute = (name) => current.attributes[name];
export const setting = (key) => current.settings[key];
export const log = (level, message) => void current.logged.push(`${level}: ${message}`);
export const report = (done, total, message) => void current.progress.push([done, total, message]);

export function secret(name) {
  if (!Object.hasOwn(current.secrets, name)) throw new Denied(`there is no secret "${name}"`);
  return current.secrets[name];
}

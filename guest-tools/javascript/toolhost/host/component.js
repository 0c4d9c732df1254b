// What every plugin may ask its host, by the bindings of the contract.

import * as context from "toolhost:plugin/context@0.1.0";
import { log as write } from "toolhost:plugin/log@0.1.0";
import { report as tell } from "toolhost:plugin/progress@0.1.0";
import * as settings from "toolhost:plugin/settings@0.1.0";
import { Denied } from "../lib/errors.js";

export const chat = () => context.chat();
export const workspaceRoot = () => context.workspaceRoot();
export const remainingMs = () => Number(context.remainingMs());
export const cancelled = () => context.cancelled();
// An absent option is null in QuickJS.
export const attribute = (name) => context.attribute(name) ?? undefined;
export const setting = (key) => settings.get(key) ?? undefined;
export const log = (level, message) => write(level, message);
export const report = (done, total, message) => tell(done, total, message);

export function secret(name) {
  try {
    return settings.secret(name);
  } catch (error) {
    throw new Denied(String(error.payload ?? error.message));
  }
}

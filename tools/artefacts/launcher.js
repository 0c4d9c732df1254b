#!/usr/bin/env node
// Starts the program that the package for this machine has, in the place of this process where Node.js can do that.
"use strict";
const { spawn } = require("node:child_process");

const name = `@toolhost/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/toolhost`);
} catch {
  console.error(
    `toolhost: the package ${name} is missing. Toolhost has programs for Linux on x64 and arm64. ` +
      "If this machine is one, install again without --omit=optional.",
  );
  process.exit(1);
}

const given = process.argv.slice(2);
if (process.execve) {
  process.removeAllListeners("warning").on("warning", () => {});
  process.execve(program, [program, ...given], process.env);
}
const child = spawn(program, given, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGWINCH"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`toolhost: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    // The caller is to see the same end.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});

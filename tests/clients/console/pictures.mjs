// Pictures of the console at work, in the directory that the options name.
import { mkdirSync, writeFileSync, chmodSync, statSync } from "node:fs";
import { join } from "node:path";

const SCRIPTS = {
  "test.sh": `echo "running 214 tests"
for name in ledger::repeats_attach ledger::a_cancelled_call_never_runs events::a_reader_resumes files::no_path_leads_out sandbox::no_secret_is_read; do
  printf 'test %s ... \\033[32mok\\033[0m\\n' "$name"
done
printf 'test http::slow_clients ... \\033[33mignored\\033[0m, needs root\\n'
printf 'test store::full_disk ... \\033[31mFAILED\\033[0m\\n'
n=0
while [ $n -lt 26 ]; do
  n=$((n + 1))
  printf '\\r\\033[1;36m     Running\\033[0m [%-30s] %s/214' "$(printf '%*s' $n '' | tr ' ' '=')>" $((n * 7))
done
exec sleep 1000
`,
  "dev-server.sh": `printf '\\033[1m  web\\033[0m ready in 412 ms\\n  listening on http://127.0.0.1:3000/\\n'; exec sleep 1000\n`,
  "import.sh": `echo "imported 18,204 of 52,000 rows"; (while :; do :; done) & exec sleep 1000\n`,
};

export default async ({ options, open, signIn, view, request, execute }) => {
  const directory = join(options.workspace, "scripts");
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(SCRIPTS)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${text}`);
    chmodSync(join(directory, name), 0o755);
  }
  await execute("support-42", "1", "git log --oneline -3 2>/dev/null || echo no commits yet");
  await request("PUT", "/v1/chats/support-42/calls/2", { tool: "write_file", arguments: { path: "notes.md", content: "# Notes\n" } });
  await execute("support-42", "3", "./scripts/dev-server.sh", { run_in_background: true });
  execute("support-42", "4", "./scripts/test.sh --all", { timeout: "10m" }).catch(() => {});
  execute("nightly-import", "1", "./scripts/import.sh customers.csv", { timeout: "10m" }).catch(() => {});
  const taken = {};
  const take = async (page, name) => {
    const path = join(options.images, `${name}.png`);
    await page.screenshot({ path, animations: "disabled", caret: "hide" });
    taken[name] = statSync(path).size;
  };
  const sizes = { light: { width: 1100, height: 520 }, dark: { width: 1100, height: 640 }, phone: { width: 360, height: 640 } };
  for (const [kind, viewport] of Object.entries(sizes)) {
    const page = await open({ viewport, colorScheme: kind === "dark" ? "dark" : "light", reducedMotion: "reduce" });
    await signIn(page);
    await page.locator("table.now .last-line").filter({ hasText: "imported" }).waitFor();
    // The second snapshot has the share of the CPU.
    await page.locator("table.now td, table.now .narrow").filter({ hasText: /\d %/ }).first().waitFor({ state: "attached" });
    await take(page, `console-now-${kind}`);
    await view(page, "chats/support-42/4");
    await page.locator(".terminal-row").filter({ hasText: "182/214" }).waitFor();
    // All of it is to be seen.
    await page.waitForFunction(() => {
      const terminal = document.querySelector(".terminal");
      return document.querySelector(".output-bar").textContent.includes("9 lines") && terminal.scrollHeight <= terminal.clientHeight;
    });
    await page.evaluate(() => window.scrollTo(0, 0));
    await take(page, `console-chat-${kind}`);
    await page.context().close();
  }
  return { taken };
};

// Uses the console in Chromium: `node browser.mjs SCENARIO URL [JSON]`. Prints what it saw as JSON, on the last line.
//
// Whatever the scenario, it watches the page: errors of scripts, what the policy stopped, dialogs, and requests that leave the origin.
import { chromium } from "playwright-core";

const [name, url, given = "{}"] = process.argv.slice(2);
const options = JSON.parse(given);
const scenario = (await import(`./${name}.mjs`)).default;

// The pages are this repository's own: no sandbox is needed, and root can have none.
const browser = await chromium.launch({
  executablePath: options.chromium ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const seen = { foreign: [], errors: [], stopped: [], dialogs: [], answers: [] };

/** Opens a page in a context of its own, which is watched. */
async function open(settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
  // Nothing here takes as long, on a slow machine with much to do either.
  context.setDefaultTimeout(300_000);
  const waiting = new Set();
  context.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith("data:")) seen.foreign.push(request.url());
  });
  await context.exposeBinding("reportStopped", (_, what) => seen.stopped.push(what));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => window.reportStopped(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(String(error.stack ?? error)));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    dialog.dismiss();
  });
  page.on("response", (response) => {
    if (!options.keepAnswers || !new URL(response.url()).pathname.startsWith("/v1/")) return;
    const kept = (async () => {
      const kind = response.headers()["content-type"] ?? "";
      // A stream has no end that one could wait for.
      const body = kind.startsWith("text/event-stream") ? "" : await response.text().catch(() => "");
      seen.answers.push({ url: response.url(), status: response.status(), body });
    })();
    waiting.add(kept);
    kept.finally(() => waiting.delete(kept));
  });
  /** Waits until all answers so far are kept. */
  page.settled = () => Promise.all([...waiting]);
  return page;
}

/** Signs in with the form. */
async function signIn(page, token = options.token) {
  await page.goto(`${url}/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
}

/** Goes to a view by its address after `#/`. */
async function view(page, address) {
  await page.goto(`${url}/console/#/${address}`);
}

/** Sends a request as a client other than the page. */
async function request(method, path, body, token = options.token) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : null };
}

/** Calls `execute`, and returns the reply. */
const execute = (chat, call, command, more = {}, token = undefined) =>
  request("PUT", `/v1/chats/${chat}/calls/${call}`, { tool: "execute", arguments: { command, ...more } }, token);

let result;
try {
  result = await scenario({ url, options, open, signIn, view, request, execute, seen, browser });
} finally {
  await browser.close();
}
// Requests that wait for commands need not end. An exit before all is written would cut it at what a pipe holds.
process.stdout.write(`${JSON.stringify({ ...result, seen })}\n`, () => process.exit());

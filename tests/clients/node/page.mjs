// Opens `/docs/` of a server in Chromium, gives the page the token, and tries the list of tools: `node page.mjs URL TOKEN`. Prints what the
// page shows, as JSON.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [url, token] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "chromium-"));
// The page is this repository's own: no sandbox is needed, and root can have none.
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"];
const browser = spawn("chromium", [...flags, `--user-data-dir=${profile}`, "about:blank"], {
  stdio: ["ignore", "ignore", "pipe"],
});

// It says on standard error where it listens.
const endpoint = await new Promise((resolve, reject) => {
  let said = "";
  browser.stderr.on("data", (data) => {
    said += data;
    const found = said.match(/DevTools listening on (ws:\S+)/);
    if (found) resolve(new URL(found[1]));
  });
  browser.on("exit", () => reject(new Error(said)));
});
const targets = await (await fetch(`http://${endpoint.host}/json`)).json();
const socket = new WebSocket(targets.find((target) => target.type === "page").webSocketDebuggerUrl);
await new Promise((resolve) => (socket.onopen = resolve));
const waiting = new Map();
socket.onmessage = (message) => {
  const answer = JSON.parse(message.data);
  waiting.get(answer.id)?.(answer.result);
};
let sent = 0;
const send = (method, params = {}) =>
  new Promise((resolve) => {
    waiting.set(++sent, resolve);
    socket.send(JSON.stringify({ id: sent, method, params }));
  });
const evaluate = async (expression) =>
  (await send("Runtime.evaluate", { expression, returnByValue: true }))?.result?.value;
// Asks until the page has something. The test that runs this has a time limit.
const until = async (expression) => {
  for (;;) {
    const value = await evaluate(expression);
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
const click = (selector) => until(`(found => found && (found.click(), true))(document.querySelector(${JSON.stringify(selector)}))`);

await send("Page.navigate", { url: `${url}/docs/` });
await until(`document.readyState === "complete" && document.getElementById("token") && true`);
const address = await evaluate("location.pathname");
await evaluate(`document.getElementById("token").value = ${JSON.stringify(token)}`);
await click("#ask button");
const tags = await until(
  `(tags => tags.length && tags.map(tag => tag.querySelector("small")?.innerText ?? ""))([...document.querySelectorAll(".opblock-tag")])`,
);
const bars = await evaluate(
  `[...document.querySelectorAll(".scheme-container, .topbar")].filter(bar => bar.offsetHeight > 0).length`,
);
await click("#operations-tools-listTools .opblock-summary-control");
await click("#operations-tools-listTools .try-out__btn");
await click("#operations-tools-listTools .execute");
const status = await until(`document.querySelector(".live-responses-table .response .response-col_status")?.innerText`);
const curl = await until(`document.querySelector(".curl-command")?.innerText`);
const shown = await evaluate(`document.documentElement.outerHTML.includes(${JSON.stringify(token)})`);
console.log(JSON.stringify({ address, tags, bars, status: status.trim(), curl, shown }));
browser.removeAllListeners("exit");
browser.on("exit", () => {
  // Processes of the browser that are about to end still write there.
  rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.exit();
});
browser.kill();

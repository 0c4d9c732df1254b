// Texts that want to be more than text, wherever the page shows foreign text: in output, names of files, tools and plugins, arguments,
// errors, and lines of the audit trail. No script runs, nothing is loaded, and the layout stays.
const RUN = "window.ran=1";
const PAYLOADS = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload="${RUN}"></svg>`,
  `<svg><script>${RUN}</script></svg>`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`,
  `<iframe src="javascript:parent.ran=1">`,
  `<object data="data:text/html,<script>${RUN}</script>"></object>`,
  `<embed src="data:image/svg+xml,<svg onload='${RUN}'/>">`,
  `<body onload="${RUN}">`,
  `<details open ontoggle="${RUN}">x</details>`,
  `<input autofocus onfocus="${RUN}">`,
  `<video><source onerror="${RUN}"></video>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RUN}">`,
  `<a href="javascript:${RUN}">click</a>`,
  `<form action="https://evil.example/"><button>send</button></form>`,
  `<meta http-equiv="refresh" content="0;url=https://evil.example/">`,
  `<base href="https://evil.example/">`,
  `<link rel="stylesheet" href="https://evil.example/x.css">`,
  `<style>*{display:none}</style>`,
  `<template><script>${RUN}</script></template>`,
  `"><script>${RUN}</script>`,
  `'><img src=x onerror='${RUN}'>`,
  `</textarea><script>${RUN}</script>`,
  `</title><script>${RUN}</script>`,
  `--><script>${RUN}</script><!--`,
  `]]><script>${RUN}</script>`,
  "${window.ran=1}",
  "{{constructor.constructor('window.ran=1')()}}",
  "<%= window.ran=1 %>",
  "`;window.ran=1;`",
  "\\u003cscript\\u003ewindow.ran=1\\u003c/script\\u003e",
  "&lt;script&gt;window.ran=1&lt;/script&gt;",
  "javascript:window.ran=1",
  "data:text/html,<script>window.ran=1</script>",
  "vbscript:msgbox(1)",
  "https://evil.example/?q=<script>",
  "//evil.example/x.js",
  "file:///etc/passwd",
  "__proto__",
  "constructor",
  '{"__proto__":{"html":1}}',
  "\u202egnp.exe\u202c",
  "\u2066\u202eabc\u2069\u202ddef",
  "\u200e\u200f\u061c\u200b\u2060\ufeff",
  "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309".repeat(20),
  "\u0e49".repeat(200),
  "\ufdfd".repeat(60),
  "\u{1f469}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}".repeat(20),
  "\u2028\u2029\u0085",
  "\x1b[31mred\x1b[0m",
  "\x1b]8;;javascript:window.ran=1\x07link\x1b]8;;\x07",
  "\x1b]0;title\x07\x1b[2J\x1b[H\x1b[?1049h",
  "\x1b[38;2;300;-1;x;;;;m\x1b[999999A\x1b[999999B\x1b[1000000Cx",
  "\x9b31mC1\x9d0;x\x9c",
  "\x1b[8mhidden\x1b[0m\x1b[5mblink",
  "\b\b\b\b\r\r\v\f\x07",
  "W".repeat(5000),
  "wide ".repeat(2000),
  "\n".repeat(50),
  "end of the list \\",
];

/** Elements that only a payload could have made. */
const intruders = () => {
  const kinds = "iframe, object, embed, svg, math, video, audio, style, base, template, form[action], img, link:not([href*='/assets/']):not([href^='assets/']), script:not([src*='assets/']), [onerror], [onload], [onfocus], [ontoggle], [style*='url'], a[href^='javascript:'], a[href^='data:'], a[href^='http']";
  return [...document.querySelectorAll(kinds)].map((element) => element.outerHTML.slice(0, 200));
};

/** The frame of the page, and how far the page is wider than the window. */
const layout = () => {
  const bar = document.querySelector(".bar").getBoundingClientRect();
  const main = document.querySelector("main").getBoundingClientRect();
  return {
    overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    bar: [bar.left, Math.round(bar.width), Math.round(bar.height)],
    main: [Math.round(main.left), Math.round(main.width)],
    direction: getComputedStyle(document.body).direction,
  };
};

const size = { wide: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };

export default async ({ url, options, open, signIn, view, request, execute }) => {
  const page = await open();
  await signIn(page);
  const measured = [];
  /** Looks at the view in both sizes. */
  const look = async (name) => {
    for (const [kind, viewport] of Object.entries(size)) {
      await page.setViewportSize(viewport);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      measured.push({ name, kind, ...(await page.evaluate(layout)), intruders: await page.evaluate(intruders), ran: await page.evaluate(() => window.ran ?? null) });
    }
    await page.setViewportSize(size.wide);
  };
  await view(page, "health");
  await page.locator(".checks").waitFor();
  await look("plain");

  // Real calls: payloads in arguments, commands, output, names of files and errors of tools.
  const answers = [];
  for (const [at, payload] of PAYLOADS.entries()) {
    const text = payload.replaceAll("\0", "");
    const quoted = `'${text.replaceAll("'", "'\\''")}'`;
    answers.push((await execute("payloads", `out.${at}`, `printf '%s\\n' ${quoted}`)).status);
    const name = text.replaceAll("/", "\u2215").replaceAll("\n", "\u2424").slice(0, 60) || "x";
    const file = { tool: "write_file", arguments: { path: `files/${at} ${name}`, content: text } };
    answers.push((await request("PUT", `/v1/chats/payloads/calls/file.${at}`, file)).status);
    const missing = { tool: "read_file", arguments: { path: `missing/${text.slice(0, 200)}` } };
    answers.push((await request("PUT", `/v1/chats/payloads/calls/error.${at}`, missing)).status);
  }
  answers.push((await execute("payloads", "all", "ls files; cat files/*; sleep 1000", { timeout: "10m", run_in_background: true })).status);
  await view(page, "chats/payloads");
  const more = page.getByRole("button", { name: "Show older calls" });
  await page.locator(".call").nth(49).waitFor();
  for (let calls = 50; await more.count(); calls += 50) {
    await more.click();
    await page.waitForFunction((calls) => document.querySelectorAll(".call").length > calls, calls);
  }
  const calls = await page.locator(".call").count();
  await page.locator(".terminal-row").filter({ hasText: "end of the list" }).first().waitFor();
  await look("chat");
  // Through the big output, and then each call.
  const terminal = page.locator(".terminal").first();
  for (let share = 0; share <= 1; share += 0.1) {
    await terminal.evaluate((element, share) => (element.scrollTop = share * element.scrollHeight), share);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  await page.getByRole("button", { name: /execute/, expanded: true }).first().click();
  for (let at = 0; at < calls; at++) {
    const toggle = page.locator(".call-toggle").nth(at);
    await toggle.click();
    const body = page.locator(".call").nth(at).locator(".call-body");
    await body.getByRole("heading", { name: "What the model read" }).waitFor();
    measured.push({ name: `call ${at}`, kind: "wide", ...(await page.evaluate(layout)), intruders: await page.evaluate(intruders), ran: await page.evaluate(() => window.ran ?? null) });
    await toggle.click();
  }
  await view(page, "now");
  await page.getByText("sleep 1000").first().waitFor();
  await look("now");
  await page.getByRole("button", { name: /^End / }).last().click();
  await look("dialog");
  await page.getByRole("button", { name: "Keep it running" }).click();
  await view(page, "audit");
  await page.getByLabel("Show").selectOption({ label: "everything" });
  await page.locator("table.audit").waitFor();
  await look("audit");

  // Names that this server would refuse, as if it did not: the page trusts no server.
  const tools = PAYLOADS.map((payload) => ({
    name: payload, title: payload, description: payload, plugin: payload, hints: {},
    input_schema: { type: "object", required: [payload], properties: { [payload]: { type: "string", description: payload }, choice: { enum: PAYLOADS } } },
  }));
  const plugins = PAYLOADS.map((payload) => ({
    name: payload, state: payload, version: payload, digest: payload, error: payload, component: payload, tools: [payload], grants: [payload],
    imports: [payload], limits: { [payload]: payload },
  }));
  const workspaces = PAYLOADS.map((payload) => ({ name: payload, provider: payload, state: payload, problem: payload, gaps: [payload], agent: payload, template: payload }));
  const lines = PAYLOADS.map((payload) => ({ time: payload, event: payload, principal: payload, chat: payload, call: payload, plugin: payload, [payload]: payload }));
  const chats = PAYLOADS.map((payload) => ({ chat: payload, token: payload, running: 1, last_call_at_unix_ms: 1 }));
  const checks = PAYLOADS.map((payload) => ({ name: payload, status: payload, text: payload }));
  const now = { at_unix_ms: 1e12, calls: PAYLOADS.map((payload) => ({ chat: payload, id: payload, tool: payload, state: "running", running_ms: 1, token: payload, workspace: payload })),
    processes: PAYLOADS.map((payload) => ({ chat: payload, id: payload, call: payload, command: payload, started_at_unix_ms: 1, status: payload, last_line: payload })) };
  const json = (body) => (route) => route.fulfill({ json: body });
  await page.route("**/v1/tools*", json({ tools }));
  await page.route("**/v1/plugins", json({ plugins }));
  await page.route("**/v1/workspaces*", json({ workspaces }));
  await page.route("**/v1/audit*", json({ lines }));
  await page.route("**/v1/chats?*", json({ chats }));
  await page.route("**/v1/health", json({ checks, [PAYLOADS[0]]: PAYLOADS }));
  await page.route("**/v1/events", (route) => route.fulfill({ contentType: "text/event-stream", body: `event: now\ndata: ${JSON.stringify(now)}\n\n` }));
  for (const [address, found] of [["tools", ".arguments"], ["plugins", ".card"], ["workspaces", "tbody tr"], ["audit", "tbody tr"], ["chats", "tbody tr"], ["health", ".checks"], ["now", "tbody tr"]]) {
    await view(page, address);
    await page.locator(found).first().waitFor();
    await look(`forged ${address}`);
  }
  // Problems, too.
  await page.unroute("**/v1/tools*");
  for (const payload of PAYLOADS) {
    await page.route("**/v1/tools*", (route) => route.fulfill({ status: 500, contentType: "application/problem+json", json: { code: payload, title: payload, detail: payload || "x" } }));
    await view(page, "health");
    await page.getByRole("heading", { name: "Health" }).waitFor();
    await view(page, "tools");
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await page.unroute("**/v1/tools*");
  }
  await look("problem");
  // Addresses that somebody is made to follow.
  for (const payload of PAYLOADS.slice(0, 40)) {
    await page.goto(`${url}/console/#/${encodeURIComponent(payload)}/${encodeURIComponent(payload)}`);
    await page.goto(`${url}/console/#${payload}`);
  }
  await look("address");
  return { payloads: PAYLOADS.length, answers, calls, measured };
};

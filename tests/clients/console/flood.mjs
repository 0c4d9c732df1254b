// Output of 50 MB, live and again from its beginning: the page stays responsive, has few elements, and shows the right rows.
const LINES = 1_000_000;
// 50 bytes each: the number of a line is its row.
const line = (number) => `line ${String(number).padStart(9, "0")} of an output that has many lines`.slice(0, 49);
const COMMAND = `seq -f 'line %09.0f of an output that has many lines' 1 ${LINES}; echo THE-END`;

/** Notes how long frames and long tasks take. */
const watch = () => {
  window.frames_ = [];
  window.tasks = [];
  let last = performance.now();
  const frame = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ entryTypes: ["longtask"] });
};

/** Returns what was noted, and begins anew. */
const noted = (page) =>
  page.evaluate(() => {
    const frames = window.frames_.slice(1).sort((one, other) => one - other);
    const at = (share) => frames[Math.min(frames.length - 1, Math.floor(frames.length * share))];
    const result = { frames: frames.length, p50: at(0.5), p95: at(0.95), worst: at(1), longest: Math.max(0, ...window.tasks) };
    window.frames_ = [];
    window.tasks = [];
    return result;
  });

const hasRow = (text) => [...document.querySelectorAll(".terminal-row")].some((row) => row.textContent.startsWith(text));
const rows = (page) =>
  page.evaluate(() => {
    const terminal = document.querySelector(".terminal");
    const shown = [...document.querySelectorAll(".terminal-row")].map((row) => row.textContent);
    return { first: Number(terminal.dataset.first), count: Number(terminal.dataset.count), shown };
  });
/** Counts the rows that are not those of their numbers. */
const wrong = ({ first, shown }) => shown.filter((text, at) => first + at < LINES && text !== line(first + at + 1)).length;

export default async ({ open, signIn, view, request }) => {
  const page = await open();
  await signIn(page);
  await view(page, "chats/flood");
  await page.locator(".empty").waitFor();
  await page.evaluate(watch);
  // A second of an idle page, to compare with.
  await page.waitForFunction(() => window.frames_.length > 60);
  const idle = await noted(page);
  const ended = request("PUT", "/v1/chats/flood/calls/1", { tool: "execute", arguments: { command: COMMAND, timeout: "10m" } });
  const begun = Date.now();
  await page.waitForFunction(hasRow, "THE-END", { timeout: 600_000 });
  const took = Date.now() - begun;
  const live = await noted(page);
  await ended;
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  const end = await rows(page);
  const places = [];
  const terminal = page.locator(".terminal");
  await terminal.hover();
  for (const share of [0, 0.37, 0.731, 0.999]) {
    await terminal.evaluate((element, share) => (element.scrollTop = share * (element.scrollHeight - element.clientHeight)), share);
    await page.waitForFunction((share) => {
      const { first, count } = document.querySelector(".terminal").dataset;
      const isThere = Math.abs(Number(first) / Number(count) - share) < 0.01;
      return isThere && [...document.querySelectorAll(".terminal-row")].every((row) => row.textContent !== "…");
    }, share);
    places.push(await rows(page));
  }
  for (let step = 0; step < 40; step++) await page.mouse.wheel(0, step % 2 ? 900 : -2000);
  const scrolling = await noted(page);
  await page.getByRole("button", { name: "Follow the end" }).click();
  await page.waitForFunction(hasRow, "THE-END");
  // With the keyboard.
  await terminal.focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(hasRow, "line 000000001");
  return {
    took, idle, live, scrolling, elements, lines: end.count, wrong: [end, ...places].map(wrong),
    firsts: places.map(({ first }) => first), most: Math.max(...[end, ...places].map(({ shown }) => shown.length)),
  };
};

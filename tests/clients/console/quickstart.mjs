// The guided hour of examples/quickstart: takes the blocks of its README, and does what each says. The URL is not used.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { AxeBuilder } from "@axe-core/playwright";

/** Returns a text as a pattern, in which … stands for anything. */
const pattern = (text) => new RegExp(text.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*"));

export default async ({ options, browser }) => {
  const { root } = options;
  const readme = readFileSync(`${root}/examples/quickstart/README.md`, "utf8");
  const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)\n```$/gms)].map(([, kind, text]) => ({ kind, lines: text.split("\n") }));
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  context.setDefaultTimeout(options.patience ?? 300_000);
  const errors = [], done = [], addresses = {};
  context.on("page", (page) => {
    page.on("pageerror", (error) => errors.push(String(error)));
    // What the policy of the chat stops is an error of its console.
    page.on("console", (said) => {
      if (said.text().includes("Content Security Policy")) errors.push(said.text());
    });
  });
  // Each page in which something was seen or clicked, by the name that the README opens.
  const pages = {};
  let page, start, isChecked = false;

  /** Starts the quickstart, and waits until it has printed the addresses. */
  async function begin(command) {
    start = spawn("sh", ["-c", `exec ${command} --port 0`], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    start.ended = new Promise((resolve) => start.on("exit", resolve));
    await new Promise((resolve, reject) => {
      start.on("exit", () => reject(new Error("the quickstart ends before it has started")));
      createInterface({ input: start.stdout }).on("line", (line) => {
        const [name, address] = line.split(/: +/);
        if (address) addresses[name] = address;
        if (line.startsWith("Ctrl-C")) resolve();
      });
    });
  }

  /** Looks at the chat as it is, in both themes: what axe finds, what is too wide, and whether a text has become a part of the page. */
  async function check() {
    const text = "<b>bold</b><img src=x onerror='window.ran = true'>";
    await page.getByLabel("Message").fill(text);
    await page.getByLabel("Message").press("Enter");
    await page.locator(".user", { hasText: text }).waitFor();
    await page.getByText("I follow a script").last().waitFor();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
      errors.push(...violations.map(({ id, nodes }) => `${colorScheme}: ${id}: ${nodes[0].html} ${nodes[0].failureSummary}`));
      await shoot(colorScheme);
    }
    const wrong = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      made: document.querySelectorAll("main b, main h1").length,
      ran: window.ran === true,
    }));
    if (wrong.wide || wrong.made || wrong.ran) errors.push(JSON.stringify(wrong));
  }

  /** Keeps a picture of the page in the directory of the option `images`. */
  const shoot = (name) => options.images && page.screenshot({ path: join(options.images, `${name}.png`) });

  const steps = {
    async sh(line) {
      if (line.startsWith("examples/quickstart/start")) await begin(line);
      else execFileSync("sh", ["-c", line], { cwd: root });
    },
    async keys(key) {
      if (key !== "Ctrl-C") return page.keyboard.press(key);
      if (!errors.length && !isChecked) await check();
      isChecked = true;
      start.kill("SIGINT");
      await start.ended;
    },
    async open(name) {
      page = pages[name] ??= await context.newPage();
      await page.bringToFront();
      await page.goto(addresses[name]);
    },
    async type(text) {
      await page.getByLabel("Message").fill(text);
      await page.getByLabel("Message").press("Enter");
    },
    async click(name) {
      const link = page.getByRole("link", { name: pattern(name) });
      const button = page.getByRole("button", { name, exact: true });
      const target = button.or(link).first();
      await target.waitFor();
      const opens = (await target.getAttribute("target")) === "_blank";
      // Items that this click does not change are not its answer.
      await page.evaluate(() => {
        window.earlier = new Map([...document.querySelectorAll("#items > *")].map((item) => [item, item.innerText]));
      });
      const opened = opens ? context.waitForEvent("page") : undefined;
      await target.click();
      if (opened) page = await opened;
    },
    async seen(text) {
      await page.waitForFunction((source) => {
        const items = document.querySelectorAll("#items > *, body:not(:has(#items))");
        return [...items].some((item) => new RegExp(source).test(item.innerText) && window.earlier?.get(item) !== item.innerText);
      }, pattern(text).source);
      await shoot(String(done.length).padStart(2, "0"));
    },
  };

  try {
    for (const { kind, lines } of blocks) {
      for (const line of lines) {
        if (!(kind in steps)) continue;
        if (options.shows) console.error(`${kind} ${line}`);
        await steps[kind](line).catch(async (error) => {
          const shown = await page?.locator("body").innerText().catch(String);
          throw new Error(`${kind} ${line}: ${error}\n${shown}`);
        });
        done.push(`${kind} ${line}`);
      }
    }
  } finally {
    start?.kill("SIGINT");
    await start?.ended;
  }
  return { done, errors };
};

// What axe finds on each view: light and dark, wide and on a phone.
import { AxeBuilder } from "@axe-core/playwright";

/** Each view, with something that is there when it is loaded. */
const VIEWS = [
  ["now", "table.now .last-line"], ["chats", "tbody tr"], ["chats/support-42", ".terminal-row"], ["chats/review-7", ".block"],
  ["tools/execute", ".arguments"], ["tools/edit_files", ".arguments"], ["tools/execute/definition", ".block"], ["plugins", ".card"],
  ["workspaces", "tbody tr"], ["audit", ".empty, tbody tr"], ["health", ".checks"], ["nowhere", "h1"],
];

/** Starts what the views show. */
async function begin({ execute }) {
  await execute("review-7", "1", "printf '\\033[31mred\\033[0m \\033[32mgreen\\033[0m \\033[90mgrey\\033[0m\\n'; echo two lines; exit 3");
  await execute("support-42", "1", "echo serving; exec sleep 1000", { run_in_background: true });
  execute("support-42", "2", "for n in 1 2 3; do printf '\\033[1;34mstep\\033[0m %s\\n' $n; done; exec sleep 1000", { timeout: "10m" }).catch(() => {});
}

export default async (tools) => {
  const { open, signIn, view } = tools;
  const found = [];
  let looked = 0;
  const check = async (page, name) => {
    const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
    looked++;
    for (const { id, impact, nodes } of violations) {
      found.push({ name, id, impact, nodes: nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`) });
    }
  };
  await begin(tools);
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
      const page = await open({ colorScheme, viewport, reducedMotion: "reduce" });
      const kind = `${colorScheme} ${viewport.width}`;
      await view(page, "now");
      await page.getByLabel("Token").waitFor();
      await check(page, `login ${kind}`);
      await signIn(page);
      for (const [address, there] of VIEWS) {
        await view(page, address);
        await page.locator(there).first().waitFor();
        await check(page, `${address} ${kind}`);
      }
      await view(page, "now");
      await page.getByRole("button", { name: /^End / }).last().click();
      await check(page, `dialog ${kind}`);
      await page.keyboard.press("Escape");
      await page.context().close();
    }
  }
  // The keyboard alone: from the top of the page to the end of a process.
  const page = await open();
  await signIn(page);
  await page.getByRole("button", { name: /^End echo serving/ }).waitFor();
  let presses = 0;
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
  while (!(await focused()).startsWith("End echo serving") && presses < 60) {
    await page.keyboard.press("Tab");
    presses++;
  }
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await page.getByRole("button", { name: /^End echo serving/ }).waitFor({ state: "detached" });
  const after = await page.evaluate(() => document.activeElement !== null);
  return { found, looked, presses, after };
};

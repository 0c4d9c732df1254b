// The layout of each view with names that are long and many processes: wide and on a phone, light and dark. No word of people is broken
// or cut, nothing is outside the window, and no table has to be scrolled to its side. With the option `images`, each view is a picture there.
import { join } from "node:path";

/** Names as programs make them: with parts, and of one piece. */
const LONG = "support-team-europe.ticket-2026-11-26T23:37:38.escalated-to-the-second-level_of-the-payments-team@customer-4711-of-tenant-17";
const PIECE = "conversation0b0c8f5e7a5f4d0e9c111f6c8f0e7a5f0b0c8f5e7a5f4d0e9c111f6c8f0e7a5f0b0c8f5e7a5f4d0e9c111f6c8f0e7a5f";
const WORKSPACE = "customers/tenant-17/repositories/payments-backend-and-its-administration-frontend/branches/feature-refunds-in-instalments";

/** Starts forty processes in some chats, and makes calls of every tool. */
async function begin({ request, execute }) {
  const call = (chat, id, tool, args) => request("PUT", `/v1/chats/${chat}/calls/${id}`, { tool, arguments: args });
  await request("PUT", `/v1/workspaces/${WORKSPACE}`, { provider: "directory" });
  await request("PUT", `/v1/chats/${LONG}`, { workspace: WORKSPACE });
  const chats = [LONG, PIECE, "support-42", "nightly-import"];
  for (let number = 0; number < 40; number++) {
    const name = `worker-${number}-of-a-pipeline-that-has-a-long-name --input=/srv/data/2026/11/26/customers/part-${number}.parquet`;
    const command = number % 3 === 0 ? `i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo "${name} step $i of the import of this night"; done; exec sleep 1000`
      : `: ${name}; exec sleep 1000`;
    await execute(chats[number % 4], `start.${number}`, command, { run_in_background: true });
  }
  execute("support-42", "wait", "echo waiting for a long time; exec sleep 1000", { timeout: "10m" }).catch(() => {});
  const deep = "packages/payments/src/main/java/com/example/payments/refunds/instalments/RefundInInstalmentsController.java";
  await call(LONG, "write", "write_file", { path: deep, content: "class A {}\n" });
  await call(LONG, "read", "read_file", { path: deep });
  await call(LONG, "edit", "edit_files", { files: [{ path: deep, edits: [{ old_text: "A", new_text: "B" }] }] });
  const script = () => call(LONG, "script", "run_script", { code: "const files = await tools.execute({ command: 'ls' });\nreturn files.output;" });
  // The plugin may still be loaded.
  while ((await script()).status === 503);
  await execute("review-7", "failed", "echo it fails; exit 3");
  await call("review-7", "missing", "read_file", { path: "there/is/no/such/file.txt" });
}

/** Returns what is wrong with the layout of the page as it is. */
const faults = () => {
  const found = [];
  const told = (element) => `${element.localName}.${element.className} "${element.textContent.trim().slice(0, 60)}"`;
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const hides = (element) => element.closest(".sr, .skip, .terminal, dialog:not([open]), thead") !== null || !element.checkVisibility();
  const scrolls = (element) => {
    for (let one = element; one; one = one.parentElement) if (/auto|scroll/.test(getComputedStyle(one).overflowX)) return true;
    return false;
  };
  for (const frame of document.querySelectorAll(".table-frame")) if (frame.scrollWidth > frame.clientWidth) found.push(`a table is ${frame.scrollWidth} wide in ${frame.clientWidth}`);
  for (const element of document.querySelectorAll("main *, .bar *")) {
    if (hides(element)) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 0 && (box.right > width + 1 || box.left < -1) && !scrolls(element)) found.push(`outside: ${told(element)}`);
    const style = getComputedStyle(element);
    const isCut = element.scrollWidth > element.clientWidth + 1 && /hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis";
    if (isCut && element.clientWidth > 0 && style.display !== "inline") found.push(`cut: ${told(element)}`);
  }
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (hides(node.parentElement)) continue;
    for (const { 0: word, index } of node.data.matchAll(/[^\s]+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = new Set([...range.getClientRects()].filter((rect) => rect.width > 0).map((rect) => Math.round(rect.top)));
      // Browsers may break behind a hyphen, and a name of one piece that is wider than its place has to be.
      if (tops.size > 1 && !/[-\u2010\u2026]/.test(word.slice(0, -1)) && word.length <= 24) found.push(`broken: "${word}" in ${told(node.parentElement)}`);
    }
  }
  // A dot stands beside the first line of its word.
  for (const dot of document.querySelectorAll(".state > .dot")) {
    if (hides(dot)) continue;
    const state = dot.parentElement;
    range.selectNodeContents(state);
    const first = [...range.getClientRects()].find((rect) => rect.left > dot.getBoundingClientRect().right - 1);
    const middle = (box) => (box.top + box.bottom) / 2;
    if (first && Math.abs(middle(dot.getBoundingClientRect()) - middle(first)) > 5) found.push(`a dot is off its word: ${told(state)}`);
  }
  // Fields of one line have one height and one place.
  for (const form of document.querySelectorAll(".filters")) {
    const fields = [...form.querySelectorAll("input:not([type=checkbox]), select, button")].map((field) => field.getBoundingClientRect());
    for (const one of fields) for (const other of fields) {
      const isBeside = one.bottom > other.top + 4 && other.bottom > one.top + 4;
      if (isBeside && (Math.abs(one.top - other.top) > 0.6 || Math.abs(one.height - other.height) > 0.6)) found.push("fields of one line are not aligned");
    }
  }
  for (const time of document.querySelectorAll("time")) if (!/\d{4}/.test(time.title)) found.push(`a time without its day: ${told(time)}`);
  return [...new Set(found)];
};

const VIEWS = [
  ["now", ".last-line"], ["now?order=memory&text=import", ".last-line"], ["chats", "tbody .is-running"], [`chats/${LONG}`, ".call .summary"],
  [`chats/${LONG}/edit`, ".call-body .block"], ["chats/support-42/wait", ".terminal-row"], ["chats/there-is-no-such-chat", ".empty"], ["tools/execute", ".arguments"],
  ["tools/execute/definition?format=openai", ".block"], ["plugins", ".card"], ["workspaces", "tbody tr"], ["audit", ".empty, tbody tr"],
  ["audit?show=everything", "tbody tr"], ["health", ".checks"],
];

export default async (tools) => {
  const { open, signIn, view, options } = tools;
  await begin(tools);
  const wrong = [];
  let looked = 0;
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of [{ width: 1280, height: 800 }, { width: 360, height: 740 }]) {
      const page = await open({ colorScheme, viewport, reducedMotion: "reduce" });
      await signIn(page);
      for (const [address, there] of VIEWS) {
        await view(page, address);
        await page.locator(there).first().waitFor();
        if (address.endsWith(LONG)) await page.locator(".summary").filter({ hasText: "RefundInInstalments" }).nth(2).waitFor();
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
        const name = `${looked % VIEWS.length} ${address.slice(0, 40)} ${colorScheme} ${viewport.width}`;
        for (const fault of await page.evaluate(faults)) wrong.push(`${name}: ${fault}`);
        looked++;
        if (options.images) await page.screenshot({ path: join(options.images, `${name.replaceAll(/[^a-z0-9]+/gi, "-")}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
  return { looked, wrong };
};

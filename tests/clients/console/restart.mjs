// A chat that is followed through a restart of the server, which whoever runs this does when it says so.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const after = async (said) => {
  console.log(said);
  await lines.next();
};

export default async ({ open, signIn, view, execute }) => {
  const page = await open();
  await signIn(page);
  await view(page, "chats/long");
  // A chat that never was is not live; its first call shows up all the same.
  await page.locator(".empty").waitFor();
  const row = (text) => page.locator(".terminal-row").filter({ hasText: text }).first();
  await execute("long", "1", "echo before-the-restart");
  await row("before-the-restart").waitFor();
  await page.locator('[data-stream="live"]').waitFor();
  await after("stop");
  await page.locator('[data-stream="lost"]').waitFor();
  const lost = await page.locator(".stream").innerText();
  await after("start");
  await page.locator('[data-stream="live"]').waitFor();
  const ended = execute("long", "2", "echo after-the-restart; sleep 1; echo and-on", { timeout: "1m" });
  await row("after-the-restart").waitFor();
  await row("and-on").waitFor();
  await ended;
  const calls = page.locator(".call");
  const finished = calls.locator(".call-toggle .state").filter({ hasText: "finished" });
  await finished.nth(1).waitFor();
  const old = calls.nth(1);
  const kept = await row("before-the-restart").count();
  return { lost, kept, states: await calls.locator(".call-toggle .state").allInnerTexts(), old: await old.innerText() };
};

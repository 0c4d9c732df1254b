// Chats: what is counted, what calls are about, what stays after the end, and a chat that never was.
export default async ({ open, signIn, view, request, execute }) => {
  const call = (chat, id, tool, args) => request("PUT", `/v1/chats/${chat}/calls/${id}`, { tool, arguments: args });
  await call("files", "call-write", "write_file", { path: "notes/today.md", content: "Buy milk.\n" });
  await call("files", "call-read", "read_file", { path: "notes/today.md" });
  await call("files", "call-edit", "edit_files", { files: [{ path: "notes/today.md", edits: [{ old_text: "milk", new_text: "tea" }] }] });
  // The plugin may still be loaded.
  while ((await call("files", "call-script", "run_script", { code: "\n// Adds.\nreturn 1 + 2;" })).status === 503);
  await call("files", "call-list", "process_list", {});
  for (let number = 0; number < 5; number++) await execute("busy", `bg.${number}`, `echo started-${number}; exec sleep 100${number}`, { run_in_background: true });
  const page = await open();
  await signIn(page);

  await view(page, "chats");
  const busy = page.getByRole("row").filter({ hasText: "busy" });
  await busy.filter({ hasText: "processes" }).waitFor();
  const counted = { row: await busy.innerText(), head: await page.locator(".head .sum").innerText() };

  await view(page, "chats/files");
  const summaries = page.locator(".call-toggle .summary");
  await page.waitForFunction(() => [...document.querySelectorAll(".summary")].filter((one) => !one.textContent.startsWith("call-")).length >= 4);
  const subjects = {};
  for (const toggle of await page.locator(".call-toggle").all()) {
    subjects[await toggle.locator(".tool").innerText()] = await toggle.locator(".summary").innerText();
  }
  // The list and the call say the same of how long it took.
  const took = {};
  for (const card of await page.locator(".call").all()) {
    const toggle = card.locator(".call-toggle");
    if ((await toggle.getAttribute("aria-expanded")) === "false") await toggle.click();
    const inside = card.locator(".facts div").filter({ hasText: "Duration" }).locator("dd");
    await inside.waitFor();
    took[await toggle.locator(".tool").innerText()] = [await card.locator(".took").innerText(), await inside.innerText()];
  }

  await view(page, "chats/busy");
  const rows = page.locator(".terminal-row");
  await rows.filter({ hasText: "started-4" }).waitFor();
  const before = await page.locator("main > .sum").innerText();
  await page.getByRole("button", { name: "End chat" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End the chat" }).click();
  const ended = page.locator("main > .note");
  await ended.waitFor();
  await page.getByText("The server no longer has this process").first().waitFor();
  const texts = async () => ({
    note: await ended.innerText(), output: await rows.allInnerTexts(), summaries: await summaries.allInnerTexts(), sum: await page.locator("main > .sum").innerText(),
    running: await page.locator(".values dt").filter({ hasText: /^running$/ }).first().locator("xpath=following-sibling::dd[1]").innerText(),
    states: await page.locator(".process-facts .state").allInnerTexts(), buttons: await page.getByRole("button", { name: "End chat" }).count(),
  });
  const after = await texts();
  await page.reload();
  await ended.waitFor();
  await page.locator(".values dt").filter({ hasText: /^running$/ }).first().waitFor();
  await summaries.filter({ hasText: "started-4" }).waitFor();
  const reloaded = await texts();

  await view(page, "chats/never-was");
  await page.locator(".empty").waitFor();
  const never = { text: await page.locator("main").innerText(), buttons: await page.locator("main button").allInnerTexts() };
  await execute("never-was", "1", "echo it is there now");
  await page.locator(".call").waitFor();
  await page.getByRole("button", { name: "End chat" }).waitFor();

  await view(page, "plugins");
  const script = page.getByRole("article", { name: "Plugin script" });
  await script.waitFor();
  return { counted, subjects, took, before, after, reloaded, never, script: await script.locator(".tag").allInnerTexts() };
};

// Calling a tool from the form that its schema makes.

/** Returns the texts of the options of a selection, once it is there. */
async function options(selection) {
  await selection.waitFor();
  return selection.locator("option").allInnerTexts();
}

export default async ({ open, signIn, view }) => {
  const page = await open();
  await signIn(page);
  await view(page, "tools/execute");
  const send = page.getByRole("button", { name: "Call execute" });
  await send.click();
  const missing = await page.getByRole("alert").innerText();
  await page.getByLabel("command").fill("echo from-the-form; exit 3");
  await page.getByLabel("timeout").fill("30s");
  await send.click();
  const reply = page.locator(".result");
  await reply.getByRole("region", { name: "output of the reply" }).waitFor();
  const first = await reply.innerText();
  // The same as JSON, with an argument of another kind.
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  const json = JSON.parse(await page.getByLabel("Arguments as JSON").inputValue());
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await page.getByLabel("run_in_background").selectOption({ label: "yes" });
  await page.getByLabel("command").fill("echo in-the-background");
  await send.click();
  await reply.getByText("background_process_id", { exact: true }).waitFor();
  await reply.getByRole("link", { name: "Open in its chat" }).click();
  await page.locator(".terminal-row").filter({ hasText: "in-the-background" }).first().waitFor();
  const chat = decodeURIComponent(page.url().split("#/chats/")[1].split("/")[0]);
  await view(page, "tools/process_signal");
  const signals = await options(page.getByRole("combobox", { name: "signal" }));
  await view(page, "tools/execute/definition");
  const formats = {};
  for (const format of await options(page.getByRole("combobox", { name: "Format" }))) {
    await page.getByLabel("Format").selectOption(format);
    const block = page.getByRole("region", { name: `Definition of execute for ${format}` });
    formats[format] = Object.keys(JSON.parse(await block.innerText()));
  }
  return { missing, first, json, chat, signals, formats };
};

// Ending what runs, from Now: the page says what will be ended, and asks once.
export default async ({ open, signIn, view, execute }) => {
  const page = await open();
  await signIn(page);
  await execute("kill-me", "1", "echo $$; sleep 1000 & exec sleep 1000", { run_in_background: true });
  execute("kill-me", "2", "echo waiting; sleep 1000", { timeout: "10m" }).catch(() => {});
  await view(page, "now");
  const background = page.getByRole("row").filter({ hasText: "exec sleep 1000" });
  await background.getByRole("button").click();
  const dialog = page.getByRole("dialog");
  const question = await dialog.innerText();
  const focused = await page.evaluate(() => document.activeElement.textContent);
  // Nothing has been ended yet, and Escape ends nothing.
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  const kept = await background.count();
  await background.getByRole("button").click();
  await dialog.getByRole("radio", { name: /^Kill/ }).check();
  await dialog.getByRole("button", { name: "Send the signal" }).click();
  await background.waitFor({ state: "detached" });
  const call = page.getByRole("row").filter({ has: page.getByRole("button", { name: "Cancel the call of execute" }) });
  await call.getByRole("button").click();
  const cancelling = await dialog.innerText();
  await dialog.getByRole("button", { name: "Cancel the call" }).click();
  await page.getByText("Nothing runs").waitFor();
  return { question, focused, kept, cancelling };
};

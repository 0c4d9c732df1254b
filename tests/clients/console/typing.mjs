// Typing into a terminal, and into an open input, from the page of a chat.
export default async ({ open, signIn, view, execute }) => {
  const page = await open();
  await signIn(page);
  await execute("typing", "1", "printf 'name? '; read -r name; echo \"<$name>\"; stty -icanon -echo; head -c 6 | od -An -c; echo over; read -r line", {
    terminal: true, run_in_background: true,
  });
  await view(page, "chats/typing");
  const unfold = async (name) => {
    const toggle = page.locator(".call-toggle").filter({ hasText: name });
    if ((await toggle.getAttribute("aria-expanded")) === "false") await toggle.click();
  };
  await unfold("printf");
  const screen = page.getByRole("textbox", { name: /^Terminal of printf/ });
  const shows = (text) => screen.filter({ hasText: text }).waitFor();
  await shows("name?");
  await screen.focus();
  await page.keyboard.type("Adx");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("a");
  await page.keyboard.press("Enter");
  await shows("<Ada>");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Alt+x");
  await page.keyboard.press("F1");
  await shows("over");
  const shown = await screen.innerText();
  // The keyboard can leave it.
  await page.keyboard.press("Tab");
  const left = await page.evaluate(() => document.activeElement.className);
  await page.getByRole("button", { name: "Ctrl-C" }).click();
  await screen.waitFor({ state: "detached" });
  await execute("typing", "2", "cat; echo the end", { keep_input_open: true, run_in_background: true });
  await unfold("the end");
  const field = page.getByRole("textbox", { name: /^A line for cat/ });
  await field.fill("<b>one</b>");
  await field.press("Enter");
  await page.getByText("<b>one</b>").first().waitFor();
  await page.getByRole("button", { name: "End the input" }).click();
  await field.waitFor({ state: "detached" });
  return { shown, left };
};

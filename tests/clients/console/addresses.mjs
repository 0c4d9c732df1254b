// Filters and searches are in the address: a reload, a link, and back and forward restore them.
export default async ({ url, open, signIn, view, execute }) => {
  await execute("support-1", "good", "echo one");
  await execute("support-1", "bad", "echo two; exit 3");
  await execute("other-1", "good", "echo three");
  await execute("support-1", "sleeps", "exec sleep 1000", { run_in_background: true });
  await execute("other-1", "sleeps", "exec sleep 1001", { run_in_background: true });
  const page = await open();
  await signIn(page);
  const address = () => page.evaluate(() => decodeURIComponent(location.hash));
  const seen = {};
  /** Looks at a view before and after a filter, a reload, and back and forward. */
  const look = async (name, start, filter, state) => {
    await view(page, start);
    const before = await state(page);
    await filter(page);
    const found = { before, address: await address(), after: await state(page) };
    await page.reload();
    found.reloaded = await state(page);
    await page.goBack();
    found.back = await state(page);
    await page.goForward();
    found.forward = await state(page);
    seen[name] = found;
  };
  /** Waits until a list has stood still, and returns it with the values of the fields. */
  const listed = (rows) => async (page) => {
    const read = async () => ({
      rows: await page.locator(rows).allInnerTexts(),
      fields: await page.locator(".filters").locator("input, select").evaluateAll((all) => all.map((field) => field.value)),
    });
    await page.locator(".head h1, h2").first().waitFor();
    await page.locator(".loading").waitFor({ state: "detached" });
    let last = JSON.stringify(await read());
    for (let same = 0; same < 4; ) {
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
      const next = JSON.stringify(await read());
      same = next === last ? same + 1 : 0;
      last = next;
    }
    return JSON.parse(last);
  };
  await look("chats", "chats", async (page) => {
    await page.getByLabel("Name begins with").fill("support");
    await page.getByRole("button", { name: "Filter" }).click();
  }, listed("tbody th"));
  await look("chat", "chats/support-1", (page) => page.getByLabel("Success").selectOption("false"), listed(".call-toggle .summary"));
  await look("text", "chats/support-1", async (page) => {
    await page.getByLabel("Text of a reply").fill("two");
    await page.getByRole("button", { name: "Search" }).click();
  }, listed(".call-toggle .summary"));
  await look("audit", "audit", (page) => page.getByLabel("Event").selectOption("process_start"), listed("tbody th code"));
  await look("now", "now", async (page) => {
    await page.getByLabel("Chat, workspace, token, tool or command").fill("1001");
    await page.getByRole("button", { name: "Filter" }).click();
  }, listed("table.now code"));
  await look("definition", "tools/execute/definition", (page) => page.getByLabel("Format").selectOption("anthropic"), listed(".tabs a[aria-current]"));
  // A link that somebody has made up shows what there is.
  await page.goto(`${url}/console/#/chats/support-1?state=nonsense&success=true&more=1`);
  seen.madeUp = await listed(".call-toggle .summary")(page);
  return { looks: seen };
};

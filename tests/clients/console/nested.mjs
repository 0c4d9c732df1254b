// The calls of a script stand below the call of the script, in their order.
export default async ({ open, signIn, view, request }) => {
  const page = await open();
  await signIn(page);
  await view(page, "chats/scripts");
  await page.locator(".empty").waitFor();
  const code = "for (const n of [1, 2, 3]) await tools.execute({ command: `echo call-${n}` }); return 3";
  const body = { tool: "run_script", arguments: { code } };
  // The plugin may still be loaded.
  while ((await request("PUT", "/v1/chats/scripts/calls/outer", body)).status === 404);
  await request("PUT", "/v1/chats/scripts/calls/later", { tool: "process_list", arguments: {} });
  await page.waitForFunction(() => document.querySelectorAll(".call").length === 5);
  const calls = page.locator(".call");
  const nested = await calls.evaluateAll((all) => all.map((one) => one.classList.contains("nested")));
  return { tools: await calls.locator(".tool").allInnerTexts(), nested, texts: await calls.locator(".call-head").allInnerTexts() };
};

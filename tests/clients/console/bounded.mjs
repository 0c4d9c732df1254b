// A token that is bounded to a prefix of chats: all that the page asks for with it, on every view that it offers.
export default async ({ url, open, signIn, view, seen }) => {
  const page = await open();
  await signIn(page);
  const views = await page.getByRole("navigation", { name: "Views" }).getByRole("link").allInnerTexts();
  const texts = [];
  const read = async () => {
    await page.locator(".loading").waitFor({ state: "detached" });
    await page.settled();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    texts.push(await page.locator("body").innerText());
  };
  await page.getByText("own-command").first().waitFor();
  for (const name of views) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    await read();
  }
  await view(page, "chats/own-1/1");
  await page.locator(".terminal-row").filter({ hasText: "own-output" }).first().waitFor();
  await read();
  await page.getByLabel("Text of a reply").fill("output");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".call").first().waitFor();
  await read();
  await page.settled();
  const own = [...seen.answers];
  // Addresses that somebody types in.
  for (const address of ["chats/other-1", "chats/other-1/1", "plugins", "audit", "health"]) {
    await view(page, address);
    await read();
  }
  await page.settled();
  // What the stream of Now has, and what the cookie is refused.
  const stream = await page.evaluate(async () => {
    const reader = (await fetch("/v1/events")).body.getReader();
    let text = "";
    const decoder = new TextDecoder();
    while (!/data: .*\n\n/.test(text)) text += decoder.decode((await reader.read()).value, { stream: true });
    reader.cancel();
    return text;
  });
  const refused = await page.evaluate(async () => {
    const paths = ["/v1/chats/other-1/calls", "/v1/chats/other-1/calls/1", "/v1/chats/other-1/processes", "/v1/chats/other-1/events",
      "/v1/plugins", "/v1/chats?prefix=other", "/v1/calls?prefix=other", "/v1/processes?prefix=other", "/metrics"];
    const all = await Promise.all(paths.map(async (path) => [path, (await fetch(path)).status]));
    const posted = await fetch("/v1/chats/other-1/calls/9", { method: "PUT", body: '{"tool":"execute"}',
      headers: { "content-type": "application/json", "toolhost-console": "1" } });
    return Object.fromEntries([...all, ["PUT", posted.status]]);
  });
  return { views, texts, own: own.map(({ url: asked, status }) => [asked.slice(url.length), status]), stream, refused };
};

// Opens the page for the API, gives it the token, and tries the list of tools.
export default async ({ url, options, open }) => {
  const page = await open();
  await page.goto(`${url}/docs/`);
  const address = new URL(page.url()).pathname;
  await page.locator("#token").fill(options.token);
  await page.locator("#ask button").click();
  const tags = page.locator(".opblock-tag");
  await tags.first().waitFor();
  const described = await tags.evaluateAll((all) => all.map((tag) => tag.querySelector("small")?.innerText ?? ""));
  const bars = await page.locator(".scheme-container:visible, .topbar:visible").count();
  const operation = page.locator("#operations-tools-listTools");
  await operation.locator(".opblock-summary-control").click();
  await operation.locator(".try-out__btn").click();
  await operation.locator(".execute").click();
  const status = await operation.locator(".live-responses-table .response .response-col_status").innerText();
  const curl = await operation.locator(".curl-command").innerText();
  const shown = (await page.content()).includes(options.token);
  return { address, described, bars, status: status.trim(), curl, shown };
};

// Signing in: by the link that works once, and by the form.
export default async ({ url, options, open, signIn }) => {
  const page = await open();
  await page.goto(options.link);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const byLink = new URL(page.url()).pathname;
  const [cookie] = await page.context().cookies();
  const isHidden = !(await page.evaluate(() => document.cookie)).includes(cookie.name);
  const hasCode = page.url().includes("code=");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  const left = (await page.context().cookies()).length;
  await page.reload();
  await page.getByLabel("Token").waitFor();

  await page.goto(options.link);
  const again = await page.getByRole("alert").innerText();

  await page.getByLabel("Token").fill("not-the-token");
  await page.getByRole("button", { name: "Sign in" }).click();
  const wrong = page.getByRole("alert").filter({ hasNotText: "link" });
  await wrong.waitFor();
  const refused = await wrong.innerText();

  await signIn(page);
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]));
  await page.reload();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  return {
    byLink, isHidden, hasCode, left, again, refused, keepsToken: stored.includes(options.token),
    cookie: { name: cookie.name, httpOnly: cookie.httpOnly, sameSite: cookie.sameSite, path: cookie.path },
    root: new URL((await page.request.get(`${url}/`)).url()).pathname,
  };
};

// A file that a tool shares: its link opens outside of the console.

export default async ({ open, signIn, view }) => {
  const page = await open();
  await signIn(page);
  await view(page, "tools/share_file");
  await page.getByLabel("path").fill("report.txt");
  await page.getByRole("button", { name: "Call share_file" }).click();
  const link = page.locator(".result").getByRole("link", { name: "/v1/links/" }).first();
  await link.waitFor();
  const [href, target, rel] = await Promise.all(["href", "target", "rel"].map((name) => link.getAttribute(name)));
  return { href, target, rel };
};

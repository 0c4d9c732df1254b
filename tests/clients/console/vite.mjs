// Uses a development server of a chat through its link: the page, a change that needs no reload, and a browser without the link.
export default async ({ options, browser, execute }) => {
  const { chat, vite, node } = options;
  const run = async (call, command, more) => {
    const { status, body } = await execute(chat, call, command, more);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.structured;
  };
  const started = await run("serve", `exec '${node}' '${vite}' --port 0`, { server: true, timeout: "5m" });
  const port = started.ports?.[0];
  if (!port?.url) throw new Error(JSON.stringify(started));
  const context = await browser.newContext();
  context.setDefaultTimeout(300_000);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const sockets = [];
  const connected = new Promise((done) => page.on("websocket", (socket) => {
    sockets.push(new URL(socket.url()).host);
    socket.once("framereceived", done);
  }));
  await page.goto(port.url);
  await page.getByText("first").waitFor();
  const address = page.url();
  await page.evaluate(() => window.wasHere = true);
  await connected;
  // Vite does not tell when it watches the file, so the change is made again until it is seen.
  const second = page.getByText("second");
  for (let number = 0; number < 60 && !await second.isVisible(); number++) {
    await run(`change-${number}`, `printf 'export const text = "second";\\n' > text.js`);
    await second.waitFor({ timeout: 5_000 }).catch(() => {});
  }
  await second.waitFor();
  const stayed = await page.evaluate(() => window.wasHere === true);
  const [cookie] = await context.cookies();
  const other = await (await browser.newContext()).newPage();
  const refused = await other.goto(address);
  return { url: port.url, address, stayed, errors, sockets, status: refused.status(), cookie: { httpOnly: cookie.httpOnly, name: cookie.name } };
};

// The title of a page of the web.

import { Failed, InvalidArguments, t, tool } from "toolhost";
import { get } from "toolhost/http";

tool({
  name: "page_title",
  description: "Fetches a page and returns its title.",
  readOnly: true,
  input: { url: t.string("The address of the page, with https://.") },
  async run({ url }) {
    if (!url.startsWith("https://")) throw new InvalidArguments("url must begin with https://");
    const { status, text } = await get(url, { timeout: 10 });
    if (status !== 200) throw new Failed(`${url} answers ${status}`);
    const [, title = "(no title)"] = /<title[^>]*>(.*?)<\/title>/is.exec(text) ?? [];
    return title.trim();
  },
});

// The entry: one Toolhost with its chats.

import { Chat } from "./chat.js";
import { Connection, type ConnectionOptions } from "./http.js";

/** A Toolhost. Without a URL and a token, they are in `TOOLHOST_URL` and `TOOLHOST_TOKEN`. */
export class Toolhost {
  private readonly connection: Connection;

  constructor(url?: string, token?: string, options?: ConnectionOptions) {
    const address = url ?? process.env["TOOLHOST_URL"] ?? "http://127.0.0.1:7411";
    this.connection = new Connection(address.replace(/\/+$/, ""), token ?? process.env["TOOLHOST_TOKEN"], options);
  }

  /** Returns a chat, without a request. */
  chat(id: string): Chat {
    return new Chat(this.connection, id);
  }
}

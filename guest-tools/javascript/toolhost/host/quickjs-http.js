// QuickJS sends no requests: its builder cannot link `wasi:http`.

export async function send() {
  throw new Error("there is no HTTP on QuickJS: build the plugin for StarlingMonkey");
}

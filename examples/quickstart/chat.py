"""A web chat whose model has the tools of Toolhost, in one file: `chat.py DIR [--port N] [--model NAME] [--script FILE]`.

`start` runs it. The address of the page has a key that commands of the model cannot read. DIR keeps the key and the chats.
The model is that of ANTHROPIC_API_KEY if it is set, or else that of OPENAI_API_KEY and OPENAI_BASE_URL.
"""

import argparse
import json
import os
import re
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from toolhost_client import Image, Refused, Toolhost, Unanswered, approvals, events
from toolhost_client.adapters import anthropic as claude
from toolhost_client.adapters import openai as completions

# The most characters of the output of a call that the page shows.
SHOWN = 16_000


class Stopped(Exception):
    """The user has pressed Stop while the model wrote."""


def ask_openai(model, messages, tools, say):
    """Streams an answer of OpenAI's chat completions, and returns the messages to append."""
    import openai

    with openai.OpenAI().chat.completions.stream(model=model, messages=messages, tools=tools) as stream:
        for event in stream:
            if event.type == "content.delta":
                say(event.delta)
        return completions.turn(stream.get_final_completion())


def ask_anthropic(model, messages, tools, say):
    """Streams an answer of Anthropic's messages, and returns the messages to append."""
    import anthropic

    with anthropic.Anthropic().messages.stream(model=model, max_tokens=8192, messages=messages, tools=tools) as stream:
        for text in stream.text_stream:
            say(text)
        return claude.turn(stream.get_final_message())


adapter, ask_model = (claude, ask_anthropic) if os.environ.get("ANTHROPIC_API_KEY") else (completions, ask_openai)


class Conversation:
    """A chat: the messages of the model, and the items that the page shows. Both are in a file."""

    def __init__(self, path: Path, toolhost: Toolhost, model: str):
        self.path, self.chat, self.model = path, toolhost.chat(f"quickstart-{path.stem}"), model
        stored = json.loads(path.read_text()) if path.exists() else {}
        self.messages, self.inbox = stored.get("messages", []), stored.get("inbox", [])
        self.items = stored.get("items", {})
        self.changed, self.readers = threading.Condition(), []
        self.running = self.stopping = False
        for item in self.items.values():
            if item["kind"] == "question" and item["state"] == "open":
                item["state"] = "refused"
        # What a process has shown so far: its call, and the cursor in its output.
        self.seen: dict[str, tuple[str, int]] = {}
        threading.Thread(target=self.follow, daemon=True).start()
        if stored.get("going"):
            self.go()

    def show(self, key: str, **fields) -> None:
        """Adds or changes an item, and tells the pages that are open."""
        with self.changed:
            item = self.items.setdefault(key, {"key": key})
            item.update(fields)
            for reader in self.readers:
                reader[key] = item
            self.changed.notify_all()

    def save(self) -> None:
        with self.changed:
            stored = {"messages": self.messages, "inbox": self.inbox, "items": self.items, "going": self.running}
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(stored))
            os.replace(new, self.path)

    def say(self, key: str, text: str, kind: str = "user") -> None:
        """Takes a prompt, once for its key. The model gets it after the calls that run."""
        with self.changed:
            if key not in self.items:
                self.show(key, kind=kind, text=text)
                self.inbox.append(text)
                self.stopping = False
                self.go()

    def go(self) -> None:
        with self.changed:
            if not self.running:
                self.running = True
                threading.Thread(target=self.converse, daemon=True).start()
            self.show("status", kind="status", busy=True)
            self.save()

    def stop(self) -> None:
        """Stops the model, and cancels the calls that run."""
        with self.changed:
            self.stopping = True
            questions = [key for key, item in self.items.items() if item["kind"] == "question"]
        for key in questions:
            self.answer(key, False)
        for call in adapter.calls_of(self.messages):
            self.chat.cancel(call.id)

    def converse(self) -> None:
        """Runs the open calls and asks the model in turns, until nothing is left to answer."""
        try:
            while self.step():
                self.save()
        except Stopped:
            pass
        except Exception as error:  # The page shows the errors of the provider and of Toolhost.
            self.show(f"e{secrets.token_hex(4)}", kind="error", text=f"{type(error).__name__}: {error}")
        with self.changed:
            self.running = False
            self.show("status", kind="status", busy=False)
            self.save()
            if self.inbox and not self.stopping:
                self.go()

    def step(self) -> bool:
        """Makes one step, and returns whether there may be another one."""
        if calls := adapter.calls_of(self.messages):
            self.run(calls)
            return True
        with self.changed:
            if self.stopping or not (self.inbox or (self.messages and self.messages[-1]["role"] != "assistant")):
                return False
            self.messages += [{"role": "user", "content": text} for text in self.inbox]
            self.inbox.clear()
            self.save()
        key, text = f"m{len(self.messages)}", []

        def say(piece: str) -> None:
            if self.stopping:
                raise Stopped
            text.append(piece)
            self.show(key, kind="model", text="".join(text))

        turn = ask_model(self.model, self.messages, self.chat.tools(adapter.format), say)
        with self.changed:
            self.messages += turn
        return True

    def run(self, calls) -> None:
        """Runs calls at the same time, each once, and adds their outcomes to the messages."""
        for call in calls:
            arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
            self.show(call.id, kind="call", tool=call.tool, arguments=arguments, state="running")
            if self.stopping:
                self.chat.cancel(call.id)
        # The calls are stored before they run: after a restart, they get their saved replies.
        self.save()
        outcomes = self.chat.run(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            self.show(call.id, **shown(outcome))
        with self.changed:
            self.messages += adapter.results(calls, outcomes)

    def follow(self) -> None:
        """Shows the output of calls as it comes, and tells the model of notices."""
        while True:
            try:
                self.catch_up()
                for event in self.chat.events():
                    match event:
                        case events.Reset():
                            self.catch_up()
                        case events.ProcessStarted(call=str(call)):
                            self.seen[event.process] = (call, 0)
                        case events.Output():
                            if event.process not in self.seen:
                                self.catch_up()
                            self.output(event.process, event.offset, event.length, event.raw.decode(errors="replace"))
                        case events.ProcessChanged(status="exited" | "lost", call=str(call)):
                            if self.items.get(call, {}).get("state") == "runs on":
                                self.show(call, state=event.signal or f"exit code {event.exit_code}")
                        case events.NoticeTold():
                            self.tell(event.notice)
            except (Refused, Unanswered):
                time.sleep(1)

    def catch_up(self) -> None:
        """Shows what happened while no events came."""
        for process in self.chat.processes(running=True):
            since = max(self.seen.get(process["id"], ("", 0))[1], process["total_bytes"] - SHOWN)
            self.seen[process["id"]] = (process.get("call") or "", since)
            output = self.chat.output(process["id"], since)
            self.output(process["id"], output["offset"], output["length"], output.get("text") or "")
        for notice in self.chat.notices():
            if notice.get("told"):
                self.tell(notice)

    def output(self, process: str, offset: int, length: int, text: str) -> None:
        with self.changed:
            call, cursor = self.seen.get(process, ("", 0))
            # A script's calls are shown with the script.
            item = self.items.get(call.split("/")[0])
            if item and offset + length > cursor and not item.get("whole"):
                self.seen[process] = (call, offset + length)
                self.show(item["key"], output=(item.get("output", "") + text)[-SHOWN:])

    def tell(self, notice) -> None:
        told = notice["told"]
        end = f" with exit code {told['exit_code']}" if told.get("exit_code") is not None else ""
        self.say(notice["id"], f"[notice] {told['event']}{end}: {notice['command']}", "notice")

    def ask(self, question: approvals.Question) -> bool:
        """Asks the user to approve a call, and waits for the answer."""
        key = f"q{secrets.token_hex(4)}"
        self.show(key, kind="question", tool=question.tool, arguments=json.dumps(question.arguments), state="open")
        with self.changed:
            self.changed.wait_for(lambda: self.items[key]["state"] != "open", timeout=600)
        self.answer(key, False)
        return self.items[key]["state"] == "approved"

    def answer(self, key: str, approved: bool) -> None:
        with self.changed:
            if self.items[key]["state"] == "open":
                self.show(key, state="approved" if approved else "refused")


def shown(outcome) -> dict:
    """Returns what the page shows of an outcome."""
    if isinstance(outcome, Refused):
        return {"state": "refused", "text": outcome.text, "failed": True}
    structured = outcome.structured if isinstance(outcome.structured, dict) else {}
    code, failed = structured.get("exit_code"), outcome.is_error or structured.get("success") is False
    fields = {"state": f"exit code {code}" if code else "failed" if failed else outcome.state, "failed": failed}
    if outcome.state != "finished":
        fields["state"] = outcome.state
    fields["images"] = [part.url for part in outcome.content if isinstance(part, Image)]
    fields["links"] = [{"url": port["url"], "name": f"port {port['port']}"} for port in structured.get("ports") or []]
    if url := structured.get("url"):
        fields["links"].append({"url": url, "name": structured.get("name") or url})
        if str(structured.get("media_type")).startswith("image/"):
            fields["images"].append(f"{url}?inline=true")
    if structured.get("running"):
        # The output of a process that runs on comes by events.
        return {**fields, "state": "runs on"}
    if outcome.tool == "execute" and structured:
        return {**fields, "output": structured.get("output", ""), "whole": True}
    return {**fields, "text": outcome.text[:SHOWN]}


class Handler(BaseHTTPRequestHandler):
    """The page and its requests, all below the key; and the approval hook of Toolhost."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url, path = self.asked()
        if path == "events" and (conversation := self.server.conversation(url)):
            return self.stream(conversation)
        if path != "":
            return self.send(404, "There is no such page.")
        nonce = secrets.token_urlsafe(16)
        settings = {"console": f"{self.server.toolhost.url}/console/", "suggestions": self.server.suggestions}
        # JSON in a script must not end it.
        values = {"NONCE": nonce, "SETTINGS": json.dumps(settings).replace("<", "\\u003c")}
        page = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], PAGE)
        sources = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data: {self.server.toolhost.url}"
        policy = f"default-src 'none'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; {sources}"
        self.send(200, page, "text/html; charset=utf-8", policy)

    def do_POST(self):
        url, path = self.asked()
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if path == "approve":
            question = approvals.question(body)
            conversation = self.server.named(question.chat or "")
            approved = conversation is not None and conversation.ask(question)
            return self.send(200, approvals.answer(approved, "The user refused it."), "application/json")
        conversation = self.server.conversation(url) if path else None
        if not conversation:
            return self.send(404, "There is no such chat.")
        if path == "say":
            conversation.say(**json.loads(body))
        elif path == "stop":
            conversation.stop()
        elif path == "answer":
            conversation.answer(**json.loads(body))
        else:
            return self.send(404, "There is no such request.")
        self.send(204, "")

    def asked(self):
        """Returns the URL, and its path below the key."""
        url = urlsplit(self.path)
        begin, given = f"/{self.server.key}/", url.path[: len(self.server.key) + 2]
        return url, url.path[len(begin) :] if secrets.compare_digest(begin.encode(), given.encode()) else None

    def stream(self, conversation: Conversation):
        pending = {}
        with conversation.changed:
            pending.update(conversation.items)
            conversation.readers.append(pending)
        try:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(b"retry: 500\nevent: reset\ndata:\n\n")
            while True:
                with conversation.changed:
                    conversation.changed.wait_for(lambda: pending, timeout=15)
                    sent = "".join(f"data: {json.dumps(item)}\n\n" for item in pending.values()) or ": alive\n\n"
                    pending.clear()
                self.wfile.write(sent.encode())
        except OSError:
            pass  # The page is closed.
        finally:
            with conversation.changed:
                conversation.readers = [reader for reader in conversation.readers if reader is not pending]

    def send(self, status: int, text: str, kind: str = "text/plain", policy: str = "default-src 'none'"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-security-policy", policy)
        self.send_header("referrer-policy", "no-referrer")
        self.send_header("x-content-type-options", "nosniff")
        self.send_header("cache-control", "no-store")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, directory: Path, port: int, model: str, suggestions: list[str]):
        super().__init__(("127.0.0.1", port), Handler)
        self.key, self.toolhost = (directory / "key").read_text(), Toolhost()
        self.chats, self.model, self.suggestions = directory / "chats", model, suggestions
        self.chats.mkdir(exist_ok=True)
        self.lock, self.conversations = threading.Lock(), {}
        # Each conversation is a reader of events, of which the server has few.
        for path in sorted(self.chats.glob("*.json"), key=lambda path: path.stat().st_mtime)[-20:]:
            self.named(f"quickstart-{path.stem}")

    def conversation(self, url) -> Conversation | None:
        return self.named(f"quickstart-{parse_qs(url.query).get('chat', ['first'])[0]}")

    def named(self, chat: str) -> Conversation | None:
        """Returns the conversation of a chat, which is new if its id is; `None` for a chat of another program."""
        if not (found := re.fullmatch(r"quickstart-([\w-]{1,40})", chat, re.ASCII)):
            return None
        name = found[1]
        with self.lock:
            if name not in self.conversations:
                path = self.chats / f"{name}.json"
                self.conversations[name] = Conversation(path, self.toolhost, self.model)
            return self.conversations[name]


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>Toolhost: a chat with tools</title>
<style nonce="{{NONCE}}">
:root { color-scheme: light dark; --line: light-dark(#ccd2dd, #3c4352); --soft: light-dark(#f3f5f9, #1c2029);
  --accent: light-dark(#1f53b8, #8fb4ff); --bad: light-dark(#b3261e, #ff9d94); background: light-dark(#fff, #12151b); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; min-height: 100dvh; padding: 0 .75rem; display: flex; flex-direction: column;
  font: 1rem/1.5 system-ui, sans-serif; color: light-dark(#1b1f27, #e6e9ef); }
header, form, #suggestions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .5rem 0; }
h1 { font-size: 1.1rem; margin: 0; flex: 1; } a { color: var(--accent); overflow-wrap: anywhere; }
main { flex: 1; } #items { display: flex; flex-direction: column; gap: .6rem; min-width: 0; }
footer { min-width: 0; max-width: 100%; position: sticky; bottom: 0; background: light-dark(#fff, #12151b); padding-bottom: .5rem; }
#items > * { overflow-wrap: anywhere; white-space: pre-wrap; min-width: 0; }
.user { align-self: flex-end; background: var(--soft); padding: .4rem .8rem; border-radius: .8rem; max-width: 85%; }
.notice { font-style: italic; } .error, .failed > summary { color: var(--bad); }
#items > :is(.call, .question) { border: 1px solid var(--line); border-radius: .5rem; padding: .3rem .6rem; white-space: normal; }
summary { cursor: pointer; } pre { margin: .3rem 0; padding: .4rem; background: var(--soft); white-space: pre-wrap;
  overflow-wrap: anywhere;
  max-height: 16rem; overflow: auto; font-size: .85rem; } pre:empty { display: none; }
img { max-width: 100%; background: #fff; display: block; margin: .3rem 0; }
button, textarea { font: inherit; color: inherit; border: 1px solid var(--line); border-radius: .5rem; padding: .3rem .7rem;
  background: var(--soft); min-height: 2.2rem; } button { cursor: pointer; }
textarea { flex: 1 1 12rem; min-width: 0; resize: vertical; } :focus-visible { outline: 2px solid var(--accent); }
#suggestions { flex-wrap: nowrap; overflow-x: auto; } #suggestions button { font-size: .85rem; white-space: nowrap; }
</style>
<header><h1>A chat with tools</h1><span id="state" role="status"></span><a id="console" target="_blank" rel="noopener">Console</a>
<a id="new">New chat</a></header>
<main><div id="items" role="log"></div></main>
<footer><div id="suggestions" role="group" aria-label="Suggestions"></div>
<form><textarea id="text" rows="1" aria-label="Message" placeholder="Message" autofocus></textarea>
<button>Send</button><button id="stop" type="button" hidden>Stop</button></form></footer>
<script nonce="{{NONCE}}">
const settings = {{SETTINGS}}, nodes = new Map(), find = (id) => document.getElementById(id);
const chat = new URLSearchParams(location.search).get("chat") ?? "first";
/** Sends a request, again if the chat cannot be reached. */
const post = (path, body) => fetch(`${path}?chat=${chat}`, { method: "POST", body: JSON.stringify(body) })
  .catch(() => setTimeout(post, 1000, path, body));
const element = (name, fields, ...children) => {
  const made = Object.assign(document.createElement(name), fields);
  made.append(...children);
  return made;
};
const set = (node, field, value) => { if (node[field] !== value) node[field] = value; };
const link = (url, text) => /^https?:/.test(url) ? element("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text) : text;
const linked = (text) => text.split(/(https?:[^\\s"'<>]+)/).map((part, place) => (place % 2 ? link(part, part) : part));
const subject = (args) => { try { const it = JSON.parse(args); return it.command ?? it.path ?? it.code ?? args; } catch { return args; } };

/** Shows an item that is new or has changed. What the user has opened stays open. */
function draw(item) {
  if (item.kind === "status") {
    find("stop").hidden = !item.busy;
    return;
  }
  let node = nodes.get(item.key);
  if (!node) {
    node = element(item.kind === "call" ? "details" : "article", { className: item.kind });
    if (item.kind === "call") node.append(element("summary"), element("pre"), element("pre", { tabIndex: 0 }), element("div"));
    find("items").append(node);
    nodes.set(item.key, node);
  }
  if (item.kind === "call") {
    const [summary, args, output, media] = node.children;
    if (["running", "failed"].includes(item.state) || item.failed) node.dataset.open ??= node.open = true;
    node.classList.toggle("failed", item.failed === true);
    set(summary, "textContent", `${item.tool}: ${subject(item.arguments).split("\\n")[0].slice(0, 90)} (${item.state})`);
    set(args, "textContent", subject(item.arguments));
    set(output, "textContent", (item.text ?? item.output ?? "").replace(/\\x1b\\[[0-9;?]*[A-Za-z]/g, ""));
    const images = (item.images ?? []).map((src) => element("img", { src, alt: "An image in the reply" }));
    const links = (item.links ?? []).map(({ url, name }) => element("p", {}, link(url, name)));
    if (media.childElementCount !== images.length + links.length) media.replaceChildren(...images, ...links);
    if (images.length + links.length) node.open = true;
  } else if (item.kind === "question") {
    const reply = (approved) => () => post("answer", { key: item.key, approved });
    const buttons = [["Approve", true], ["Refuse", false]].map(([text, yes]) => element("button", { onclick: reply(yes) }, text));
    const asked = item.state === "open" ? "May this run?" : item.state;
    node.replaceChildren(`${asked} ${item.tool}`, element("pre", {}, subject(item.arguments)), ...(item.state === "open" ? buttons : []));
  } else node.replaceChildren(...linked(item.text));
}

const stream = new EventSource(`events?chat=${chat}`);
stream.addEventListener("reset", () => { nodes.clear(); find("items").replaceChildren(); set(find("state"), "textContent", ""); });
stream.onerror = () => set(find("state"), "textContent", "reconnecting");
stream.onmessage = ({ data }) => {
  const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 80;
  draw(JSON.parse(data));
  if (atEnd) scrollTo(0, document.documentElement.scrollHeight);
};
function say(text) {
  if (text.trim()) post("say", { key: crypto.randomUUID(), text });
}
document.forms[0].onsubmit = (event) => { event.preventDefault(); say(find("text").value); find("text").value = ""; };
find("text").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); document.forms[0].requestSubmit(); }
};
document.onkeydown = (event) => { if (event.key === "Escape" && !find("stop").hidden) post("stop"); };
find("stop").onclick = () => post("stop");
find("console").href = `${settings.console}#/chats/quickstart-${chat}`;
find("new").href = `?chat=${crypto.randomUUID().slice(0, 8)}`;
find("suggestions").append(...settings.suggestions.map((text) => element("button", { onclick: () => say(text) }, text)));
</script>
"""


def main():
    parser = argparse.ArgumentParser(description="A web chat with the tools of Toolhost.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--port", type=int, default=7412)
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--script", type=Path, default=Path(__file__).with_name("script.json"))
    arguments = parser.parse_args()
    dialogs = json.loads(arguments.script.read_text())["dialogs"]
    suggestions = [dialog["prompt"] for dialog in dialogs if "prompt" in dialog]
    server = Server(arguments.directory, arguments.port, arguments.model, suggestions)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/{server.key}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

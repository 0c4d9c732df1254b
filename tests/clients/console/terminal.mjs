// The terminal of the page: rows for text with control sequences.
const CASES = [
  ["plain\nlines\n", ["plain", "lines"]],
  ["no end", ["no end"]],
  ["\n\nx", ["", "", "x"]],
  ["a\r\nb\r\n", ["a", "b"]],
  ["10%\r20%\r100%", ["100%"]],
  ["longer\rab", ["abnger"]],
  ["longer\r\x1b[Kab", ["ab"]],
  ["abc\x1b[2D-", ["a-c"]],
  ["abc\b\b_", ["a_c"]],
  ["a\tb", ["a       b"]],
  ["a\r\t|", ["a       |"]],
  ["1\n2\n3\x1b[2A\r\x1b[Kone\x1b[2B\r\x1b[Kthree", ["one", "2", "three"]],
  ["up\n\x1b[1A\x1b[2Kdown", ["down"]],
  ["\x1b[5Cx", ["     x"]],
  ["abcdef\x1b[3G\x1b[1P", ["abdef"]],
  ["abcdef\x1b[3G\x1b[2X", ["ab  ef"]],
  ["abc\x1b[1;1Hx", ["xbc"]],
  ["\x1b[31mred\x1b[0m and \x1b[1;4;38;5;208mmore\x1b[m", ["red and more"]],
  ["\x1b]0;a title\x07text", ["text"]],
  ["\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", ["link"]],
  ["\x1bPq#0;2;0;0;0\x1b\\after", ["after"]],
  ["\x1b]never closed\nnext", ["", "next"]],
  ["\x1b[?25l\x1b[?1049hkept\x1b[?25h", ["kept"]],
  ["\x1b(Bx\x1b7y\x1b8z", ["xz"]],
  ["one\ntwo\x1b[2J\x1b[Hthree", ["one", "two", "three"]],
  ["one\n\x1b[H\x1b[Jtwo", ["one", "two"]],
  ["bar 1\nbar 2\x1b[1A\r\x1b[Jnew 1\nnew 2", ["new 1", "new 2"]],
  ["\x1b[999999999999Ax", ["x"]],
  ["\x1b[38;2;1;2mx", ["x"]],
  ["a\0b\x7fc\x01d", ["abcd"]],
  ["\u4f60\u597d\r\u4f60", ["\u4f60\u597d"]],
  ["x".repeat(2500), ["x".repeat(1000), "x".repeat(1000), "x".repeat(500)]],
];

export default async ({ url, open }) => {
  const page = await open();
  await page.goto(`${url}/console/`);
  return page.evaluate(async (cases) => {
    const script = document.querySelector('script[type="module"]').src;
    const { Terminal, SCREEN } = await import(new URL("output/terminal.js", script).href);
    const rowsOf = (parts) => {
      const rows = [];
      const terminal = new Terminal((row) => rows.push(row.text));
      for (const part of parts) terminal.write(part);
      const all = [...rows, ...terminal.rows.map((row) => row.text)].slice(0, terminal.count);
      return all.map((text) => text.trimEnd());
    };
    const wrong = [];
    for (const [text, expected] of cases) {
      const wanted = expected.map((row) => row.trimEnd());
      const same = (rows) => JSON.stringify(rows) === JSON.stringify(wanted);
      const whole = rowsOf([text]);
      if (!same(whole)) wrong.push([text, whole]);
      // It makes no difference where a text is cut.
      for (let at = 1; at < Math.min(text.length, 60); at++) {
        const cut = rowsOf([text.slice(0, at), text.slice(at)]);
        if (!same(cut)) wrong.push([text, at, cut]);
      }
    }
    // A copy of a terminal goes on like the terminal itself, wherever it is made.
    let random = 7;
    const next = (below) => (random = (random * 48271) % 2147483647) % below;
    const pieces = ["word ", "\n", "\r", "\x1b[2A", "\x1b[K", "\x1b[3", "1mred", "\x1b[0m", "\x1b[2J", "\x1b[H", "\t", "\x1b]0;t", "\x07", "\b", "\x1b[1B", "\n\n\n"];
    let copies = 0;
    for (let round = 0; round < 200; round++) {
      const text = Array.from({ length: 400 }, () => pieces[next(pieces.length)]).join("");
      const at = next(text.length);
      const [first, second] = [[], []];
      const one = new Terminal((row) => first.push(row.text + row.styles));
      one.write(text.slice(0, at));
      const other = Terminal.from(one.snapshot(), (row) => second.push(row.text + row.styles));
      const before = first.length;
      one.write(text.slice(at));
      other.write(text.slice(at));
      const ends = [[...first.slice(before), ...one.rows], [...second, ...other.rows]].map((rows) => JSON.stringify(rows));
      if (ends[0] !== ends[1] || one.count !== other.count) wrong.push(["copy", text, at]);
      copies++;
    }
    return { cases: cases.length, copies, wrong, screen: SCREEN };
  }, CASES);
};

// What QuickJS lacks, compared with what Node.js has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seed } from "../toolhost/host/random.js";
import { decode, encode } from "../toolhost/lib/utf8.js";

test("texts become the bytes of UTF-8", () => {
  for (const text of ["", "aé€😀", "\0\u07ff\u0800\uffff\u{10ffff}", "\ud800x\udc00", "😀".repeat(5000)]) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
  }
});

test("bytes become texts as in browsers", () => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const starts = [0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff];
  for (const first of starts) {
    for (const second of starts) {
      for (const third of [0x41, 0x80, 0x9f, 0xa0, 0xbf, 0xe2]) {
        const bytes = new Uint8Array([first, second, third, 0x80, 0x42]);
        assert.equal(decode(bytes), decoder.decode(bytes), String(bytes));
      }
    }
  }
  assert.equal(decode(encode("😀".repeat(5000))), "😀".repeat(5000));
  assert.throws(() => decode(new Uint8Array([0xff]), true), TypeError);
});

test("random numbers belong to their call", () => {
  const firsts = new Set(Array.from({ length: 100 }, (_, at) => (seed(`call ${at}`), Math.random())));
  assert.equal(firsts.size, 100);
  const draw = (text) => (seed(text), Array.from({ length: 1000 }, Math.random));
  assert.deepEqual(draw("a"), draw("a"));
  const [one, other] = [draw("a"), draw("b")];
  assert.equal(new Set([...one, ...other]).size, 2000);
  assert.ok(one.every((number) => number >= 0 && number < 1));
  const mean = one.reduce((sum, number) => sum + number, 0) / one.length;
  assert.ok(mean > 0.4 && mean < 0.6, String(mean));
});

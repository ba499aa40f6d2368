import assert from "node:assert/strict";
import test from "node:test";
import { shipping, total } from "../built/prices.js";

test("few pieces cost what they cost", () => {
  assert.equal(total([200, 300]), 500);
});

test("a small order pays for shipping", () => {
  assert.equal(shipping(500), 490);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { discounted, shipping } from "../src/price.mjs";

test("a tenth is taken off", () => {
  assert.equal(discounted(1000), 900);
});

test("a small order pays for sending", () => {
  assert.equal(shipping(100), 500);
});

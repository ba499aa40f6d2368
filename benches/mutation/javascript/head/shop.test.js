"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const shop = require("./shop.js");

test("small orders pay for shipping", () => {
  assert.equal(shop.shipping(100), 500);
});

test("adults are allowed", () => {
  assert.equal(shop.allowed(30, "DE"), true);
  assert.equal(shop.allowed(18, "DE"), true);
  assert.equal(shop.allowed(17, "DE"), false);
});

test("a refund gives back what was paid", () => {
  assert.equal(shop.refund(shop.audit(), 70), 70);
});

test("it tries again more than once", () => {
  assert.ok(shop.retries() > 1);
});

test("reserving takes from the stock", () => {
  const stock = { left: 3 };
  assert.equal(shop.reserve(shop.audit(), stock, 2), true);
  assert.equal(stock.left, 1);
  assert.equal(shop.reserve(shop.audit(), stock, 2), false);
});

test("a tenth is taken off", () => {
  assert.equal(shop.discounted(1000), 900);
});

test("guests are welcomed by name", () => {
  assert.equal(shop.greeting("Ada"), "Welcome, Ada");
});

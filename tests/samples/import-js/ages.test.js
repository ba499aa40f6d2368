const test = require("node:test");
const assert = require("node:assert");
const { isAdult } = require("./ages.js");

test("eighteen is adult and seventeen is not", () => {
  assert.equal(isAdult(18), true);
  assert.equal(isAdult(30), true);
  assert.equal(isAdult(17), false);
});

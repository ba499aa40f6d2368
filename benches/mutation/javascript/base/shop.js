"use strict";
// A small shop.

exports.audit = () => ({
  lines: [],
  note(what) {
    this.lines.push(what);
  },
});

exports.discounted = (total) => {
  return total;
};

exports.shipping = (total) => {
  return 500;
};

exports.allowed = (age, country) => {
  if (country === "") {
    return false;
  }
  return age >= 18;
};

exports.refund = (audit, paid) => {
  const back = paid;
  audit.note("looked up");
  return back;
};

exports.retries = () => {
  return 3;
};

exports.greeting = (name) => {
  return `Hello, ${name}`;
};

exports.reserve = (audit, stock, wanted) => {
  if (wanted > stock.left) {
    return false;
  }
  audit.note("reserved");
  stock.left -= wanted;
  return true;
};

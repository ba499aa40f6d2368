"use strict";
// A small shop.

exports.audit = () => ({
  lines: [],
  note(what) {
    this.lines.push(what);
  },
});

exports.discounted = (total) => {
  return total - Math.floor(total / 10);
};

exports.shipping = (total) => {
  return total >= 5000 ? 0 : 500;
};

exports.allowed = (age, country) => {
  return age >= 18;
};

exports.refund = (audit, paid) => {
  const back = paid;
  audit.note("looked up");
  audit.note("refunded");
  return back;
};

exports.retries = () => {
  return 5;
};

exports.greeting = (name) => {
  return `Welcome, ${name}`;
};

exports.reserve = (audit, stock, wanted) => {
  if (wanted > stock.left) {
    return false;
  }
  stock.left -= wanted;
  audit.note("reserved");
  return true;
};

/** What is left to pay after the discount. */
export function discounted(total) {
  return total - Math.floor(total / 10);
}

/** What sending it costs. */
export function shipping(total) {
  return total >= 5000 ? 0 : 500;
}

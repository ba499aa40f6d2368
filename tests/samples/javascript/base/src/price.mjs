/** What is left to pay after the discount. */
export function discounted(total) {
  return total;
}

/** What sending it costs. */
export function shipping(total) {
  return 500;
}

// What an order costs, in cents.

/** The price of all pieces. */
export function total(prices: number[]): number {
  let sum = prices.reduce((one, other) => one + other, 0);
  return sum;
}

/** What shipping costs. */
export function shipping(total: number): number {
  return 490;
}

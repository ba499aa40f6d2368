// What an order costs, in cents.

/** The price of all pieces. */
export function total(prices: number[]): number {
  let sum = prices.reduce((one, other) => one + other, 0);
  if (prices.length > 3) {
    sum -= Math.floor(sum / 10);
  }
  return sum;
}

/** What shipping costs. */
export function shipping(total: number): number {
  if (total >= 5000) {
    return 0;
  }
  return 490;
}

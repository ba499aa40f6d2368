// Package shop tells what an order costs, in cents.
package shop

// Total is the price of all pieces.
func Total(prices []int) int {
	sum := 0
	for _, price := range prices {
		sum += price
	}
	if len(prices) > 3 {
		sum -= sum / 10
	}
	return sum
}

// Shipping is what shipping costs.
func Shipping(total int) int {
	if total >= 5000 {
		return 0
	}
	return 490
}

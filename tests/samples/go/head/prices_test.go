package shop

import "testing"

func TestFewPiecesCostWhatTheyCost(t *testing.T) {
	if got := Total([]int{200, 300}); got != 500 {
		t.Fatalf("total is %d", got)
	}
}

func TestASmallOrderPaysForShipping(t *testing.T) {
	if got := Shipping(500); got != 490 {
		t.Fatalf("shipping is %d", got)
	}
}

func TestManyPiecesAreATenthCheaper(t *testing.T) {
	if got := Total([]int{100, 100, 100, 100}); got != 360 {
		t.Fatalf("total is %d", got)
	}
	if got := Total([]int{100, 100, 100}); got != 300 {
		t.Fatalf("total is %d", got)
	}
}

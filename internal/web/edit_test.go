package web

import "testing"

// TestDecimalPrice reads prices as people write them, and guesses nothing.
func TestDecimalPrice(t *testing.T) {
	for typed, want := range map[string]string{
		"499": "499", "499.00": "499.00", "499,00": "499.00", "1,299.00": "1299.00", "1.299,00": "1299.00", "1 299,5": "1299.5",
		"1'299.00": "1299.00", "1,299,000.50": "1299000.50", "1,299,000": "1299000", "0.125": "0.125", "0,99": "0.99",
		"1,299": "", "1.299": "", "12,99.00": "", "1,2,3": "", "1.299.00": "", "5.": "", "1,299,00": "", ",,": "",
	} {
		got, ok := decimalPrice(typed)
		if want == "" && ok || want != "" && got != want {
			t.Errorf("%q is %q, %v, want %q", typed, got, ok, want)
		}
	}
}

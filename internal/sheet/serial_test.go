package sheet

import "testing"

// TestPlaceholdersAreNotSerialNumbers: two products with the same placeholder are not
// the same product.
func TestPlaceholdersAreNotSerialNumbers(t *testing.T) {
	for _, text := range []string{"", "N/A", "n.a.", "-", "--", "none", "Unknown", "?", "0", "000", "keine", "xxx",
		"#N/A"} {
		if isSerialNumber(text) {
			t.Errorf("%q was accepted as a serial number", text)
		}
	}
	for _, text := range []string{"SN-1", "7", "A", "N", "0012", "NA-4711", "X200"} {
		if !isSerialNumber(text) {
			t.Errorf("%q was not accepted as a serial number", text)
		}
	}
}

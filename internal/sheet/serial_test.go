package sheet

import "testing"

// TestPlaceholdersAreNotSerialNumbers: two products without a serial number are not
// taken for one because both cells say so.
func TestPlaceholdersAreNotSerialNumbers(t *testing.T) {
	for _, text := range []string{"", "N/A", "n.a.", "-", "--", "none", "Unknown", "?", "0", "000", "keine", "xxx", "#N/A"} {
		if identifies(text) {
			t.Errorf("%q is taken for a serial number", text)
		}
	}
	for _, text := range []string{"SN-1", "7", "A", "N", "0012", "NA-4711", "X200"} {
		if !identifies(text) {
			t.Errorf("%q is not taken for a serial number", text)
		}
	}
}

package sheet_test

import (
	"errors"
	"strings"
	"testing"

	"warranty.example/svc/internal/sheet"
)

// TestReadProducts reads lengths and names of columns as people write them, and reports errors by row.
func TestReadProducts(t *testing.T) {
	const text = "Product;Manufacturer;EAN;Warranty (years);Terms\n" +
		"Hob;Tessel;2000 0000 64116;2;Parts\nPan;;;1.5;\nPot;;;lifetime;\n;;;1;\nLid;;123;x;\nCup;;;10 days;\nshort\n"
	rows, err := sheet.ReadProducts(strings.NewReader(text), 10)
	if err != nil || len(rows) != 7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	hob, pan, pot := rows[0].Product, rows[1].Product, rows[2].Product
	if hob.Name != "Hob" || hob.Brand != "Tessel" || hob.GTIN != "2000000064116" || *hob.LengthMonths != 24 || hob.Terms != "Parts" {
		t.Errorf("%+v", hob)
	}
	if *pan.LengthMonths != 18 || pot.LengthMonths != nil || !*pot.Lifetime {
		t.Errorf("%+v, %+v", pan, pot)
	}
	for i, want := range map[int]string{3: "name", 4: "length", 5: "length", 6: ""} {
		faults := rows[i].Faults()
		if len(faults) == 0 || faults[0].Field != want || rows[i].Line != i+2 {
			t.Errorf("row %d of line %d: %+v", i, rows[i].Line, faults)
		}
	}
	bare, err := sheet.ReadProducts(strings.NewReader("name,length\nHob,24\n"), 10)
	if err != nil || *bare[0].Product.LengthMonths != 24 {
		t.Errorf("%+v, %v", bare, err)
	}
	for _, text := range []string{"", "name\nHob\n", "length\n24\n", "name,length\nA,1\nB,1\n", "name,length\n\"A,1\n"} {
		var fault *sheet.Fault
		if _, err := sheet.ReadProducts(strings.NewReader(text), 1); !errors.As(err, &fault) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestReadProductsNamedTotal: a product whose name begins like a total is no total.
func TestReadProductsNamedTotal(t *testing.T) {
	const text = "name,brand,model,gtin,category,length\nTotal Care,,,,,24\nHob,,,,,24\nTotal,,,,,\n"
	rows, err := sheet.ReadProducts(strings.NewReader(text), 10)
	if err != nil || len(rows) != 2 || rows[0].Err != nil || rows[0].Product.Name != "Total Care" {
		t.Errorf("%+v, %v", rows, err)
	}
}

package web

import (
	"bytes"

	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/warranty"
)

// samples returns a sheet of sample warranties, which is also the template.
func samples(today warranty.Date) []byte {
	var b bytes.Buffer
	w := sheet.NewWriter(&b)
	for _, row := range [][]string{
		{
			"product_name", "start_date", "end_date", "category", "serial_number",
			"supplier", "seller_name", "seller_email", "description",
		},
		{
			"Sample: espresso machine", (today - 690).String(), (today + 40).String(), "Kitchen", "EM-2041-77",
			"Brunner Supply", "Corner Coffee", "", "Two years from the maker; the receipt is in the drawer.",
		},
		{
			"Sample: cordless drill", (today - 100).String(), (today + 994).String(), "Tools", "CD18-00391",
			"", "Tool Market", "", "Three years, battery one year.",
		},
		{
			"Sample: cast iron pan", (today - 400).String(), warranty.Lifetime.String(), "Kitchen", "",
			"", "Iron & Sons", "", "Lifetime warranty.",
		},
		{
			"Sample: headphones", (today - 900).String(), (today - 170).String(), "Audio", "HP-88120",
			"", "Sound Store", "", "",
		},
	} {
		w.Write(row)
	}
	_ = w.Flush() // writing to a buffer does not fail
	return b.Bytes()
}

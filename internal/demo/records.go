package demo

import (
	"time"

	"warranty.example/svc/warranty"
)

// record is a warranty of the demo. Dates are relative to today, so that the demo always
// has every status.
type record struct {
	by                        int // index into who
	product, category, serial string
	supplier                  string
	soldBy                    bool // confirmed by the demo's seller
	start, end                int  // days from today
	standing                  warranty.Status
	description               string
	handedOver                bool // to the owner
}

const lifetime = 1 << 20

var records = []record{
	{0, "Bosch Serie 6 washing machine WGG244A20", "Appliances", "FD9906-003217", issuerName, true, -1010, 85, warranty.Active,
		"Two years by the maker, one more by the shop.", false},
	{0, "Miele Complete C3 vacuum cleaner", "Appliances", "MC3-88214071", "", true, -700, 30, warranty.Active, "", false},
	{0, "Lenovo ThinkPad X1 Carbon Gen 11", "Computers", "PF4K9T2X", "Lenovo Nordic", true, -785, 310, warranty.Active,
		"On-site repair on the next working day.", false},
	{0, "Apple iPad Air 11\"", "Computers", "DMPXQ2LJH1", "", true, -355, 10, warranty.Active, "", false},
	{0, "LG OLED55C4 television", "Electronics", "404MAXN9R123", "", true, -530, 200, warranty.Active,
		"Panel covered for five years by the maker's own terms.", false},
	{0, "Sony WH-1000XM5 headphones", "Electronics", "S01-5519384", "", true, -800, -70, warranty.Active, "", false},
	{0, "Canon EOS R8 camera body", "Photography", "093024001177", "Foto Berg", true, -640, 90, warranty.Active, "", false},
	{0, "Sigma 24-70mm F2.8 DG DN lens", "Photography", "56281947", "Foto Berg", true, -595, 135, warranty.Active, "", false},
	{0, "Brompton C Line folding bicycle", "Bicycles", "2303158842", "Velo Kollektiv", false, -500, 2055, warranty.Active,
		"Frame: seven years.", false},
	{0, "Trek FX 3 Disc bicycle", "Bicycles", "WTU218KT0193P", "Velo Kollektiv", false, -1500, lifetime, warranty.Active,
		"Frame covered for the life of the first owner.", false},
	{0, "Victorinox Swiss Champ knife", "Tools", "", "", false, -2100, lifetime, warranty.Active, "", false},
	{0, "Makita DHP486 cordless drill", "Tools", "0148277Y", "", true, -1120, -25, warranty.Active, "", false},
	{0, "Herman Miller Aeron chair, size B", "Furniture", "AER1B23DWALPG1", "", false, -900, 3480, warranty.Active, "", false},
	{0, "IKEA Metod kitchen", "Furniture", "", "IKEA", false, -1400, 7730, warranty.Active,
		"Invoice kept with the documents.", false},
	{0, "Samsung Galaxy S24 phone", "Phones", "R5CX20ABCDE", "", true, -610, 120, warranty.Void,
		"Opened by an unauthorised workshop.", false},
	{0, "Fairphone 5", "Phones", "FP5-DE-118273", "", false, -390, 1435, warranty.Active, "", false},
	{0, "De'Longhi Magnifica Evo coffee machine", "Appliances", "132217098", "", true, -820, -90, warranty.Active, "", false},
	{0, "Vaillant aroTHERM plus heat pump", "Heating", "21223400100219830006", "Wärme Haus GmbH", false, 14, 1840, warranty.Active,
		"Begins with the start-up visit.", false},
	{0, "Dyson Airblade hand dryer", "Appliances", "HU02-77120", "", true, -200, 530, warranty.Cancelled,
		"Returned within 30 days.", false},
	{0, "Garmin Forerunner 965", "Sports", "7EX104422", "", true, -715, 15, warranty.Active, "", false},

	{1, "Extended cover: Philips Hue starter set", "Electronics", "001788FFFE4A", "Signify", true, -250, 845, warranty.Active,
		"", false},
	{1, "Extended cover: Sonos Arc soundbar", "Electronics", "54-2A-1B-9C-07", "Sonos Europe", true, -180, 915, warranty.Active,
		"", false},
	{1, "Extended cover: HP LaserJet Pro 4002dn", "Computers", "VNC3L41907", "HP", true, -1300, -205, warranty.Active,
		"", false},
	{1, "Shop display: Samsung The Frame 65\"", "Electronics", "0D9A3HFT600021", "Samsung", true, -95, 635, warranty.Active,
		"", false},
	{1, "Point-of-sale terminal Sunmi V2s", "Equipment", "V204D31T20917", "Sunmi", true, -510, 220, warranty.Active,
		"", false},
	{1, "Delivery van tail lift", "Equipment", "DH-LM-10-44718", "Dhollandia", true, -1220, -125, warranty.Active, "", false},

	{3, "Bose SoundLink speaker, refurbished", "Electronics", "077512-R", "", false, -210, 155, warranty.Active,
		"", true},

	{2, "Brandt refrigerator BFC8610NX", "Appliances", "BR-2024-118834", "", true, -490, 240, warranty.Active,
		"Compressor covered for ten years.", true},
	{2, "Brandt dishwasher DWJ148DS", "Appliances", "BR-2024-120077", "", true, -425, 305, warranty.Active, "", true},
	{2, "Brandt induction hob TI364B", "Appliances", "BR-2023-097745", "", false, -690, 40, warranty.Active, "", true},
	{2, "Brandt built-in oven BOP7537LX", "Appliances", "BR-2022-064410", "", true, -1090, -360, warranty.Active, "", true},
	{2, "Brandt wine cooler WB1V45", "Appliances", "BR-2025-003391", "", false, -460, 270, warranty.Active, "", true},
	{2, "Brandt tumble dryer BD8H2T", "Appliances", "BR-2025-006602", "", true, -20, 710, warranty.Active, "", false},
	{2, "Brandt cooker hood AD1516X", "Appliances", "BR-2021-041298", "", false, -1500, -770, warranty.Active, "", false},
	{2, "Brandt freezer BFU584ESW", "Appliances", "BR-2024-131165", "", true, -240, 490, warranty.Void,
		"Serial plate does not match the device.", false},
	{2, "Brandt microwave SE2616B", "Appliances", "BR-2025-009917", "", true, 7, 737, warranty.Active, "", false},
	{2, "Brandt washer-dryer WD1114L", "Appliances", "BR-2026-000128", "", true, 21, 751, warranty.Active, "", false},
	{2, "Brandt range cooker CVB110X", "Appliances", "BR-2023-088002", "", true, -760, -30, warranty.Active, "", false},
	{2, "Brandt kettle set, trade fair sample", "Samples", "BR-S-0019", "", false, -130, 235, warranty.Cancelled,
		"Sample was not sold.", false},
	{2, "Brandt service contract, Hotel Adler", "Contracts", "BR-C-2025-07", "", false, -150, 945, warranty.Active,
		"Covers 24 devices; the list is attached.", false},
	{2, "Brandt compressor, spare part", "Parts", "BR-P-771204", "", true, -45, 320, warranty.Active, "", false},
}

// create returns the input that creates the record.
func (r record) create(today warranty.Date) warranty.CreateWarranty {
	in := warranty.CreateWarranty{
		ProductName:  r.product,
		Category:     r.category,
		SerialNumber: r.serial,
		Supplier:     r.supplier,
		Description:  r.description,
		StartDate:    today + warranty.Date(r.start),
		EndDate:      today + warranty.Date(r.end),
	}
	if r.end == lifetime {
		in.EndDate = warranty.Lifetime
	}
	if r.soldBy {
		in.SellerName, in.SellerEmail = sellerName, sellerEmail
	}
	return in
}

// made returns when the record was created: about a day after its start date, but in the
// past.
func (r record) made(now time.Time, i int) time.Time {
	days := min(r.start+1, -3)
	return now.AddDate(0, 0, days).Add(time.Duration(i*17%600) * time.Minute).Truncate(time.Second)
}

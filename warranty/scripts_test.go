package warranty_test

import (
	"testing"

	"warranty.example/svc/warranty"
)

// TestTextsAreVisible: a text that renders as nothing is refused wherever text is.
func TestTextsAreVisible(t *testing.T) {
	for _, text := range []string{
		"\u00ad", "\u200d", "\u200c\u200d", "\u3164", "\uffa0", "\u115f\u1160", "\u2800\u2800", "\u034f", "\ufe0f", "\U000e0100",
		"\u17b4", "\u180b", "\u0301", "\u00ad \u3164", "\u20dd",
	} {
		in := warranty.CreateWarranty{ProductName: text, StartDate: 800000, EndDate: 800000, SellerName: text}
		expectFaults(t, in.Check(), "product_name invisible", "seller_name invisible")
		o := warranty.CreateOrganization{Name: text}
		if o.Check() == nil {
			t.Errorf("%q is accepted as a name", text)
		}
	}
	for _, text := range []string{"می\u200cخواهم", "👩\u200d🚀", "co\u00adoperate", "e\u0301", "日本", "–", "🛠"} {
		in := warranty.CreateWarranty{ProductName: text, StartDate: 800000, EndDate: 800000}
		expectFaults(t, in.Check())
	}
	for _, name := range []string{"Apple\u3164", "Apple\u2800Inc", "App\u034fle"} {
		expectFaults(t, (&warranty.CreateOrganization{Name: name}).Check(), "name forbidden_character")
	}
}

// TestLooksMixed: names that mix alphabets, or that look Latin and are not.
func TestLooksMixed(t *testing.T) {
	for _, name := range []string{
		"Аpple", "Appӏe", "Bоsch", "Gοogle", "Sаmsung Electronics", "Miеle", "Microsоft", "Аррӏе", "ΑΡΡΕ", "сосоа", "ОСА",
		"Αpple", "Ꭺpple", "Sоny", "LG Еlectronics", "Dуson", "Ѕіеmеnѕ", "Teslа", "Ηilti", "Καnon", "Nikоn", "Воsсh", "Apple संस्था Ltd кг",
	} {
		if !warranty.LooksMixed(name) {
			t.Errorf("%q looks fine", name)
		}
	}
	for _, name := range []string{
		"Apple", "Bosch GmbH & Co. KG", "Müller", "Яндекс", "ΑΘΗΝΑ", "株式会社ソニー", "Sony 株式会社ソニー", "삼성전자 Samsung", "小米", "آپادانا",
		"Ærø", "3M", "7-Eleven", "Россия", "Ελλάδα", "संस्था", "Łódź", "", "123",
	} {
		if warranty.LooksMixed(name) {
			t.Errorf("%q looks mixed", name)
		}
	}
}

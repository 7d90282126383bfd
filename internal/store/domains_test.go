package store

import (
	"strings"
	"testing"

	"warranty.example/svc/warranty"
)

// TestIssuersOfAProductAreFoundInTheIndex: a step from one issuer of a product to the next, and the newest warranties of an
// issuer, are read from an index in its order, however many warranties one issuer has.
func TestIssuersOfAProductAreFoundInTheIndex(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		ada := newOwner(t, s)
		ada.must(func(tx *Tx) error {
			for range 9000 {
				w := newRecord()
				w.GTIN, w.SerialNumber = new("4242005273881"), new("FD-1")
				if err := tx.InsertWarranty(w, ada.user); err != nil {
					return err
				}
			}
			return tx.later(`ANALYZE`)
		})
		forms := []any{"4242005273881", "04242005273881", "00000000000000", "0000000000000"}
		steps := planOf(t, s, productIssuers, append(forms, "FD-1", 2000)...)
		among := planOf(t, s, issuersAmong(productIssuers), append(forms, "FD-1", 2000, warranty.ID{0xFF}, 20)...)
		newest := planOf(t, s, issuedOfProduct, "4242005273881", "FD-1", ada.user, warranty.ID{0xFF}, 20)
		if strings.Count(steps, "warranties_by_product_key") != 2 {
			t.Errorf("the issuers: %s", steps)
		}
		if !strings.Contains(newest, "warranties_by_product_key") {
			t.Errorf("the newest: %s", newest)
		}
		if strings.Count(among, "warranties_by_product_key") != 3 || strings.Contains(among, "Seq Scan on warranties") {
			t.Errorf("those who issued it: %s", among)
		}
		for _, plan := range []string{steps, newest} {
			if strings.Contains(plan, "Seq Scan on warranties") || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE FOR ORDER") {
				t.Error(plan)
			}
		}
	})
}

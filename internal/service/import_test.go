package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/pages"
	"warranty.example/svc/internal/sheet"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// importing is the service as used by an import.
func (w *world) importing(p person) sheet.Service {
	return sheet.Service{
		Lookup: func(ctx context.Context, in warranty.LookupWarranties) (warranty.Lookups, error) {
			return w.Service.LookupWarranties(ctx, p.Principal, in)
		},
		Batch: func(ctx context.Context, in warranty.CreateBatch, _ []int64) (warranty.BatchResults, error) {
			return w.Service.CreateBatch(ctx, p.Principal, in)
		},
		Get: func(ctx context.Context, in warranty.GetWarranty) (warranty.Warranty, error) {
			return w.Service.GetWarranty(ctx, p.Principal, in)
		},
		Update: func(ctx context.Context, in warranty.UpdateWarranty, _ int64) error {
			_, err := w.Service.UpdateWarranty(ctx, p.Principal, in)
			return err
		},
	}
}

// imported imports a text.
func imported(t *testing.T, text string, im sheet.Import) (sheet.Counts, error) {
	t.Helper()
	rows, err := sheet.Open(strings.NewReader(text), sheet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	im.Rows = rows
	im.Each = func(row sheet.Row, outcome sheet.Outcome) error {
		if outcome == sheet.Refused {
			t.Errorf("line %d: %s", row.Line, row.Reason())
		}
		return nil
	}
	err = im.Run(t.Context())
	return im.Counts, err
}

// all returns the records that a user sees.
func (w *world) all(p person) []warranty.Warranty {
	w.T.Helper()
	var list []warranty.Warranty
	if err := pages.Each(w.T.Context(),
		func(ctx context.Context, in warranty.ListWarranties) (warranty.Page[warranty.Warranty], error) {
			return w.Service.ListWarranties(ctx, p.Principal, in)
		}, warranty.ListWarranties{}, func(page warranty.Page[warranty.Warranty], fresh []int) error {
			for _, i := range fresh {
				list = append(list, page.Data[i])
			}
			return nil
		}); err != nil {
		w.T.Fatal(err)
	}
	return list
}

// exported returns a user's export.
func (w *world) exported(p person) string {
	w.T.Helper()
	var b bytes.Buffer
	out := sheet.NewWriter(&b)
	out.Write(sheet.Columns(reflect.TypeFor[warranty.Warranty]()))
	for _, record := range w.all(p) {
		out.Write(sheet.Values(reflect.ValueOf(record)))
	}
	if err := out.Flush(); err != nil {
		w.T.Fatal(err)
	}
	return b.String()
}

// contents returns what an import must reproduce of a user's records, sorted.
func (w *world) contents(p person) []string {
	w.T.Helper()
	var list []string
	text := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, r := range w.all(p) {
		list = append(list, fmt.Sprintf("%q", []string{
			r.ProductName, text(r.Description), text(r.SerialNumber), text(r.ExternalID), text(r.Category),
			text(r.Supplier), text(r.SellerName), text(r.SellerEmail), r.StartDate.String(), r.EndDate.String(),
			r.Status.String(),
		}))
	}
	slices.Sort(list)
	return list
}

// fillRandomly creates n records of every kind and status.
func (w *world) fillRandomly(p person, n int, seed uint64) {
	w.T.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	today := warranty.DateOf(w.Clock.Now())
	for i := range n {
		start := today + warranty.Date(random.IntN(2000)-1000)
		in := warranty.CreateWarranty{
			ProductName: pick("Kettle", "=Pan", "'Pot'", "Ofen, groß", "a\"b", "ケトル"),
			StartDate:   start,
			EndDate:     start + warranty.Date(random.IntN(900)),
			Description: pick("", "One.\nTwo.", "-1", "x;y"),
			Category:    pick("", "Kitchen", "+x"),
			Supplier:    pick("", "Makro", "@x"),
			SellerName:  pick("", "Shop"),
			SellerEmail: pick("", "shop@people.example"),
		}
		switch random.IntN(3) {
		case 0:
			in.SerialNumber = fmt.Sprintf("S-%d", random.IntN(n))
		case 1:
			in.ExternalID = fmt.Sprintf("X-%d", i)
		}
		if random.IntN(5) == 0 {
			in.EndDate = warranty.Lifetime
		}
		made, err := w.Service.CreateWarranty(w.T.Context(), p.Principal, in)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, status := range [][]warranty.Status{nil, nil, {warranty.Void}, {warranty.Cancelled}, {warranty.Void, warranty.Active}}[random.IntN(5)] {
			if _, err := w.Service.UpdateWarranty(w.T.Context(), p.Principal,
				warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &status}); err != nil {
				w.T.Fatal(err)
			}
		}
	}
}

// TestExportThenImportIsTheSame // A5: void and cancelled records came back as active.
// Random records are exported from one account and imported into another.
func TestExportThenImportIsTheSame(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		for seed := range uint64(4) {
			from, to := w.person("From", true), w.person("To", true)
			w.fillRandomly(from, 60, seed)
			text := w.exported(from)
			preview, err := imported(t, text, sheet.Import{Service: w.importing(to), DryRun: true})
			if err != nil || preview.ToCreate != 60 {
				t.Fatalf("%+v %v", preview, err)
			}
			if counts, err := imported(t, text, sheet.Import{Service: w.importing(to)}); err != nil ||
				counts.Created != 60 {
				t.Fatalf("%+v %v", counts, err)
			}
			if got, want := w.contents(to), w.contents(from); !slices.Equal(got, want) {
				t.Fatalf("seed %d:\n%s\nwant\n%s", seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			// From now on, both sides know every row when it is imported again.
			w.Clock.Advance(store.KeyLifetime + time.Hour)
			from, to = w.session(from.User, time.Hour), w.session(to.User, time.Hour)
			for _, p := range []person{from, to} {
				preview, err := imported(t, text, sheet.Import{Service: w.importing(p), DryRun: true})
				if err != nil || preview.ToCreate != 0 || preview.AlreadyImported+preview.LooksImported != 60 {
					t.Errorf("a preview of the same: %+v %v", preview, err)
				}
				counts, err := imported(t, text, sheet.Import{Service: w.importing(p)})
				if err != nil || counts.Created != 0 || len(w.all(p)) != 60 {
					t.Errorf("again: %+v %v", counts, err)
				}
			}
		}
	}, busy)
}

// TestImportThatEndedEarlyIsFinished // A5: the process ends after any call, before or
// after its effect. The next run completes what is missing, even a day later.
func TestImportThatEndedEarlyIsFinished(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		from := w.person("From", true)
		w.fillRandomly(from, 25, 7)
		text, want := w.exported(from), w.contents(from)
		crash := errors.New("crash")
		for round := range 6 {
			to := w.person("To", true)
			random := rand.New(rand.NewPCG(uint64(round), 2))
			runs := 0
			for ; runs < 500; runs++ {
				real := w.importing(to)
				broken := real
				broken.Batch = func(ctx context.Context, in warranty.CreateBatch, lines []int64) (made warranty.BatchResults, err error) {
					dice := random.IntN(3)
					if dice != 0 {
						made, err = real.Batch(ctx, in, lines)
					}
					if dice < 2 {
						return made, crash
					}
					return made, err
				}
				broken.Update = func(ctx context.Context, in warranty.UpdateWarranty, line int64) (err error) {
					dice := random.IntN(6)
					if dice != 0 {
						err = real.Update(ctx, in, line)
					}
					if dice < 2 {
						return crash
					}
					return err
				}
				_, err := imported(t, text, sheet.Import{Service: broken})
				if err == nil {
					break
				}
				if !errors.Is(err, crash) {
					t.Fatal(err)
				}
				if round%2 == 1 {
					w.Clock.Advance(store.KeyLifetime + time.Minute)
					to = w.session(to.User, time.Hour)
				}
			}
			if got := w.contents(to); !slices.Equal(got, want) || runs == 500 {
				t.Fatalf("after %d runs:\n%s\nwant\n%s", runs, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}, busy)
}

// TestImportLeavesLaterChangesAlone: a record that was changed after its import keeps
// its status, and the history shows the one set by the import.
func TestImportLeavesLaterChangesAlone(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		ctx, from, to := t.Context(), w.person("From", true), w.person("To", true)
		made := w.record(from, "")
		void, active := warranty.Void, warranty.Active
		if _, err := w.Service.UpdateWarranty(ctx, from.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: made.ID}, Status: &void}); err != nil {
			t.Fatal(err)
		}
		text := w.exported(from)
		if _, err := imported(t, text, sheet.Import{Service: w.importing(to)}); err != nil {
			t.Fatal(err)
		}
		copied := w.all(to)[0]
		history, err := w.Service.ListHistory(ctx, to.Principal,
			warranty.ListHistory{Paging: warranty.Paging{Page: 1, Limit: 10}, ID: warranty.WarrantyKey{ID: copied.ID}})
		if err != nil || len(history.Data) != 2 || history.Data[0].Changes[0].Field != "status" ||
			copied.ReferenceNumber == made.ReferenceNumber {
			t.Fatalf("%+v %v", history.Data, err)
		}
		if _, err := w.Service.UpdateWarranty(ctx, to.Principal,
			warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: copied.ID}, Status: &active}); err != nil {
			t.Fatal(err)
		}
		if _, err := imported(t, text, sheet.Import{Service: w.importing(to)}); err != nil {
			t.Fatal(err)
		}
		if got := w.all(to); len(got) != 1 || got[0].Status != warranty.Active {
			t.Errorf("%+v", got)
		}
	}, busy)
}

// TestReimports // A7: importing a row again creates nothing, unless it is a real
// duplicate, was deleted meanwhile, or is wanted twice.
func TestReimports(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, olga := t.Context(), w.person("Olga", true)
		const text = "name,start_date,end_date,serial_number,external_id,category\n" +
			"Detector,2026-01-01,2027-01-01,,,\nDetector,2026-01-01,2027-01-01,,,\nKettle,2026-01-01,2027-01-01,S-1,,\nKettle,2026-06-01,2028-01-01,S-1,,\nPot,2026-01-01,2027-01-01,,X-1,\n"
		expect := func(what, text string, im sheet.Import, created, existing, looks, total int) {
			t.Helper()
			im.Service = w.importing(olga)
			got, err := imported(t, text, im)
			if err != nil || got.Created != created || got.AlreadyImported != existing || got.LooksImported != looks ||
				len(w.all(olga)) != total {
				t.Errorf("%s: %+v, %d records, %v", what, got, len(w.all(olga)), err)
			}
		}
		expect("the first time", text, sheet.Import{}, 5, 0, 0, 5)
		expect("at once", text, sheet.Import{}, 0, 3, 2, 5)
		w.Clock.Advance(store.KeyLifetime + time.Hour)
		olga = w.session(olga.User, time.Hour)
		expect("after a day", text, sheet.Import{}, 0, 3, 2, 5)
		expect("one more of the same", text+"Detector,2026-01-01,2027-01-01,,,\n", sheet.Import{}, 1, 3, 2, 6)
		expect("with other remarks", strings.ReplaceAll(text, "S-1,,", "S-1,,Kitchen"), sheet.Import{}, 0, 3, 2, 6)
		expect("wanted twice", text, sheet.Import{AllowDuplicates: true}, 4, 1, 0, 10)
		for _, r := range w.all(olga) {
			if r.ProductName == "Pot" || r.SerialNumber != nil {
				if _, err := w.Service.DeleteWarranty(ctx, olga.Principal,
					warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: r.ID}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		expect("after some were deleted", text, sheet.Import{}, 3, 0, 2, 8)
		for _, r := range w.all(olga) {
			if _, err := w.Service.DeleteWarranty(ctx, olga.Principal, warranty.DeleteWarranty{ID: warranty.WarrantyKey{ID: r.ID}}); err != nil {
				t.Fatal(err)
			}
		}
		expect("after all were deleted, within the day", text, sheet.Import{}, 5, 0, 0, 5)
		// A later warranty for an existing product is another record, wherever it is in
		// the sheet.
		expect("one more cover", strings.Replace(text, "Kettle,", "Kettle,2028-01-02,2029-01-01,S-1,,\nKettle,", 1),
			sheet.Import{}, 1, 3, 2, 6)
		// Two concurrent imports create each record once.
		nils := w.person("Nils", true)
		counts, errs := make([]sheet.Counts, 4), make([]error, 4)
		together(4, func(i int) { counts[i], errs[i] = imported(t, text, sheet.Import{Service: w.importing(nils)}) })
		made := 0
		for i := range counts {
			made += counts[i].Created
			if errs[i] != nil {
				t.Error(errs[i])
			}
		}
		if made != 5 || len(w.all(nils)) != 5 {
			t.Errorf("four imports at once made %d records, %d are there", made, len(w.all(nils)))
		}
	}, busy)
}

// TestImportComparesSerialNumbers: rows whose serial numbers differ only in dashes, spaces or case are one product, in a
// file and beside what was imported before; another coverage of it is imported. A later one is still a coverage of its own.
func TestImportComparesSerialNumbers(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		olga := w.person("Olga", true)
		const head = "name,start_date,end_date,serial_number\n"
		for _, c := range []struct {
			what, rows                        string
			created, skipped, existing, total int
		}{
			{"in a file", "Kettle,2026-01-01,2027-01-01,SN-12 a\nKettle,2026-01-01,2027-01-01,sn12A\nKettle,2026-01-01,2027-01-01,S-N1-2A\n", 1, 2, 0, 1},
			{"imported before", "Kettle,2026-01-01,2027-01-01,sn 12-A\n", 0, 0, 1, 1},
			{"another product", "Pan,2026-01-01,2027-01-01,SN12A\n", 1, 0, 0, 2},
			{"two coverages", "Kettle,2026-01-01,2027-01-01,SN12A\nKettle,2027-01-02,2028-01-01,sn-12-a\n", 1, 0, 1, 3},
			{"both again", "Kettle,2026-01-01,2027-01-01,sn12a\nKettle,2027-01-02,2028-01-01,SN 12 A\n", 0, 0, 2, 3},
		} {
			got, err := imported(t, head+c.rows, sheet.Import{Service: w.importing(olga)})
			if err != nil {
				t.Fatal(err)
			}
			counts := [4]int{got.Created, got.Skipped, got.AlreadyImported, len(w.all(olga))}
			equal(t, c.what, counts, [4]int{c.created, c.skipped, c.existing, c.total})
		}
	})
}

// TestImportSaysWhichRowsHaveOtherDates: a renewal of a known serial number is not created silently, and
// not left out silently.
func TestImportSaysWhichRowsHaveOtherDates(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		p := w.person("Olga", true)
		const head = "product_name,serial_number,external_id,start_date,end_date\n"
		const first = head + "Kettle,S1,,2024-01-01,2026-01-01\nPot,S2,,2024-01-01,2026-01-01\nPan,,E3,2024-01-01,2026-01-01\n"
		const renewed = head + "Kettle,S1,,2026-01-02,2028-01-01\nPot,S2,,2024-01-01,2026-01-01\nPan,,E3,2024-01-01,2027-01-01\n"
		for i, run := range []struct {
			text            string
			dry, duplicates bool
			want            sheet.Counts
		}{
			{first, false, false, sheet.Counts{Rows: 3, Created: 3}},
			{first, false, false, sheet.Counts{Rows: 3, AlreadyImported: 3}},
			{renewed, true, false, sheet.Counts{Rows: 3, AlreadyImported: 3, OtherDates: 2}},
			{renewed, false, false, sheet.Counts{Rows: 3, AlreadyImported: 2, OtherDates: 1, Differs: 1}},
			{renewed, false, true, sheet.Counts{Rows: 3, Created: 2, Differs: 1}},
		} {
			got, err := imported(t, run.text, sheet.Import{
				Service: w.importing(p), DryRun: run.dry, AllowDuplicates: run.duplicates,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(run.want, got); diff != "" {
				t.Errorf("run %d: %s", i, diff)
			}
		}
	})
}

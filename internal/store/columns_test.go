package store

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/warranty"
)

// computed are the fields of a warranty that are not stored in its row.
var computed = []string{
	"SellerConfirmed", "Handover", "Status", "DaysRemaining", "Roles", "VerifyURL", "WebURL", "ClaimCount", "ClaimURL", "UploadURL", "Replay",
}

// TestEveryFieldOfAWarrantyIsStored fills every field, inserts the record and reads it.
func TestEveryFieldOfAWarrantyIsStored(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		filled := fillWarranty(t)
		user := newID()
		err := s.Write(t.Context(), func(tx *Tx) error {
			owner := warranty.User{ID: user, Name: "Owner", Email: "owner@example.com", CreatedAt: time.Now()}
			if err := tx.InsertUser(owner, "x"); err != nil {
				return err
			}
			return tx.InsertWarranty(filled, user)
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Warranty(t.Context(), user, warranty.WarrantyKey{ID: filled.ID})
		if err != nil {
			t.Fatal(err)
		}
		read.Roles = filled.Roles
		if diff := cmp.Diff(filled, read); diff != "" {
			t.Errorf("read is not what was inserted (-inserted +read):\n%s", diff)
		}
	})
}

// TestErasingForgetsEveryFieldOfAWarranty fills every field, deletes the record and erases it: only its reference and
// what is not about people or products stays.
func TestErasingForgetsEveryFieldOfAWarranty(t *testing.T) {
	stays := []string{"reference", "issuer_id", "named_by", "id", "seller_id"}
	each(t, func(t *testing.T, s *Store) {
		w, user := fillWarranty(t), newID()
		err := s.Write(t.Context(), func(tx *Tx) error {
			owner := warranty.User{ID: user, Name: "Owner", Email: "owner@example.com", CreatedAt: time.Now()}
			if err := tx.InsertUser(owner, "x"); err != nil {
				return err
			}
			if err := tx.InsertWarranty(w, user); err != nil {
				return err
			}
			if err := tx.DeleteWarranty(w, time.Now()); err != nil {
				return err
			}
			return tx.EraseWarranties([]warranty.ID{w.ID})
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Snapshot(t.Context(), func(snapshot *Snapshot) error {
			at := slices.IndexFunc(snapshot.Tables, func(table Table) bool { return table.Name == "warranties" })
			table := snapshot.Tables[at]
			return snapshot.Rows(t.Context(), table, func(values []any) error {
				for i, c := range table.Columns {
					text, isText := values[i].(string)
					isDay := strings.HasPrefix(c.Name, "purchase") && values[i] != nil
					if (isText && text != "" || isDay) && !slices.Contains(stays, c.Name) {
						t.Errorf("%s is still %v", c.Name, values[i])
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// fillWarranty returns a warranty with a value in each field that is not computed.
func fillWarranty(t *testing.T) (w warranty.Warranty) {
	t.Helper()
	w.ID = newID()
	fillFields(t, &w, computed)
	w.Standing = warranty.Active
	return w
}

func fill(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *warranty.ID:
		*at = newID()
		return
	case *warranty.Date:
		*at = 20000 + warranty.Date(len(name))
		return
	case *time.Time:
		*at = time.UnixMicro(1e15 + int64(len(name))).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, name, v.Elem())
	case reflect.String:
		v.SetString(name)
	case reflect.Int64:
		v.SetInt(int64(len(name)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Type().Field(i).Name, v.Field(i))
		}
	default:
		t.Fatalf("%s: how is a %s filled?", name, v.Type())
	}
}

// TestEveryFieldOfAClaimIsStored fills every field, files the claim, decides it and reads it.
func TestEveryFieldOfAClaimIsStored(t *testing.T) {
	computed := strings.Fields("Warranty ManagedBy WaitingFor WaitingSince Queue Fault Customer Assignee Roles WebURL LastMessage Messages Replay")
	each(t, func(t *testing.T, s *Store) {
		of, user := fillWarranty(t), newID()
		filled := warranty.Claim{ID: newID(), WarrantyID: of.ID, Type: warranty.Repair, Status: warranty.Submitted}
		repaired := warranty.Repaired
		filled.Resolution = &repaired
		fillFields(t, &filled, computed)
		err := s.Write(t.Context(), func(tx *Tx) error {
			owner := warranty.User{ID: user, Name: "Owner", Email: "owner@example.com", CreatedAt: time.Now()}
			return errors.Join(tx.InsertUser(owner, "x"), tx.InsertWarranty(of, user), tx.InsertClaim(filled, user),
				tx.UpdateClaim(filled, filled.Status))
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Claim(t.Context(), user, warranty.ClaimKey{ID: filled.ID})
		if err != nil {
			t.Fatal(err)
		}
		sameFields(t, filled, read, computed)
	})
}

// TestEveryFieldOfADocumentIsStored fills every field, inserts the document and reads it. Erasing its warranty leaves
// nothing of it, and nothing of a claim.
func TestEveryFieldOfADocumentIsStored(t *testing.T) {
	computed := strings.Fields("Warranty WebURL MessageID Attached Stored Kept Replay") // a message takes documents that are stored
	each(t, func(t *testing.T, s *Store) {
		of, user := fillWarranty(t), newID()
		claim := warranty.Claim{ID: newID(), ClaimNumber: "CL-1", WarrantyID: of.ID, Type: warranty.Repair, Status: warranty.Submitted}
		filled := warranty.Document{
			ID: newID(), WarrantyID: of.ID, ClaimID: &claim.ID, Type: warranty.Receipt, SHA256: strings.Repeat("ab", 32),
		}
		fillFields(t, &filled, computed)
		err := s.Write(t.Context(), func(tx *Tx) error {
			owner := warranty.User{ID: user, Name: "Owner", Email: "owner@example.com", CreatedAt: time.Now()}
			return errors.Join(tx.InsertUser(owner, "x"), tx.InsertWarranty(of, user), tx.InsertClaim(claim, user),
				tx.InsertDocument(filled, user, of.Roles, "key"))
		})
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Document(t.Context(), user, filled.ID)
		if err != nil {
			t.Fatal(err)
		}
		sameFields(t, filled, read, computed)

		err = s.Write(t.Context(), func(tx *Tx) error {
			return errors.Join(tx.DeleteWarranty(of, time.Now()), tx.eraseDeleted(of.ID, time.Now()))
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"documents", "claims"} {
			err := s.db.Query(t.Context(), `SELECT 1 FROM `+table, func(*engine.Row) error {
				t.Errorf("%s has a row of an erased warranty", table)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// fillFields sets the fields of a record that are neither computed nor set.
func fillFields[T any](t *testing.T, record *T, computed []string) {
	t.Helper()
	v := reflect.ValueOf(record).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); !slices.Contains(computed, field.Name) && v.Field(i).IsZero() {
			fill(t, field.Name, v.Field(i))
		}
	}
}

// sameFields compares the fields of two records that are not computed.
func sameFields[T any](t *testing.T, want, got T, computed []string) {
	t.Helper()
	a, b := reflect.ValueOf(&want).Elem(), reflect.ValueOf(&got).Elem()
	for i := range a.NumField() {
		if name := a.Type().Field(i).Name; slices.Contains(computed, name) {
			a.Field(i).SetZero()
			b.Field(i).SetZero()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read is not what was stored (-stored +read):\n%s", diff)
	}
}

// TestAnUpdateNamesIndexedColumnsThatChanged: SQLite rewrites the indexes of every column that is named.
func TestAnUpdateNamesIndexedColumnsThatChanged(t *testing.T) {
	t.Parallel()
	before := fillWarranty(t)
	for name, c := range map[string]struct {
		change       func(*warranty.Warranty)
		named, unset []string
	}{
		"nothing":     {func(*warranty.Warranty) {}, []string{"version", "brand"}, []string{"end_date", "gtin", "reference"}},
		"end date":    {func(w *warranty.Warranty) { w.EndDate++ }, []string{"version", "end_date"}, []string{"start_date"}},
		"equal value": {func(w *warranty.Warranty) { w.GTIN = warranty.Optional(*w.GTIN) }, nil, []string{"gtin"}},
		"to null":     {func(w *warranty.Warranty) { w.GTIN = nil }, []string{"gtin", "serial_number"}, []string{"seller_id"}},
	} {
		after := before
		c.change(&after)
		sql, args := warranties.update(&before, &after, 1, 2)
		for _, column := range c.named {
			if !strings.Contains(sql, " "+column+" = $") {
				t.Errorf("%s: %s is not set: %s", name, column, sql)
			}
		}
		for _, column := range append(c.unset, "customer_email", "taken_at") {
			if strings.Contains(sql, " "+column+" = $") {
				t.Errorf("%s: %s is set: %s", name, column, sql)
			}
		}
		if n := strings.Count(sql, "$"); n != len(args)-2 {
			t.Errorf("%s: %d parameters for %d arguments", name, n, len(args)-2)
		}
	}
}

// TestIndexedColumnsAreMarked fails if a column in an index of SQLite is set by every update.
func TestIndexedColumnsAreMarked(t *testing.T) {
	t.Parallel()
	s := open(t, newFile(t))
	marked := map[string]bool{"deleted_at": true, "issuer_id": true, "customer_id": true}
	for _, c := range warranties.columns {
		marked[c.name] = c.fixed || c.index != 0
	}
	marked["serial_key"] = marked["serial_number"] // it is made from it
	err := s.db.Query(t.Context(), `SELECT DISTINCT i.name FROM sqlite_master m, pragma_index_info(m.name) i
		WHERE m.type = 'index' AND m.tbl_name = 'warranties'`, func(r *engine.Row) error {
		if column := r.Text(); !marked[column] {
			t.Errorf("%s is in an index, and its column does not say so", column)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

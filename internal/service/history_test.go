package service_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/internal/servertest"
	"warranty.example/svc/warranty"
)

// TestPeopleLeaveOneEventEach performs every change to a warranty, by API, MCP, CLI and
// web, and reads its whole history.
func TestPeopleLeaveOneEventEach(t *testing.T) {
	eachInTurn(t, func(t *testing.T, w *world) {
		owner, seller, recipient := w.Verified("Olga"), w.Person("Sami"), w.Verified("Hedi")
		var shop struct{ Secret string }
		w.Must(201, made("POST", "/api/integration-tokens", owner.Session, fields{"name": "Shop till", "scopes": warranty.AllScopes})).Into(t, &shop)
		key := shop.Secret
		var record servertest.Record
		body := fields{"product_name": "Kettle", "start_date": "2020-01-01", "end_date": "2099-12-31", "seller_email": seller.Email}
		const cli, agent = "svc/0.1.0 (linux)", "svc-mcp/0.1.0"
		w.Must(201, made("POST", "/api/v1/warranties", key, body, "User-Agent", agent, "Idempotency-Key", "k")).Into(t, &record)
		w.Must(201, made("POST", "/api/v1/warranties", key, body, "User-Agent", agent, "Idempotency-Key", "k")) // a replay
		path := "/api/v1/warranties/" + record.ID

		w.Must(200, made("PUT", path, key, fields{"product_name": "Pot", "category": "Kitchen"}, "User-Agent", cli))
		w.Must(200, made("PUT", path, key, fields{"product_name": "Pot"}, "User-Agent", cli)) // changes nothing
		w.Must(200, made("POST", "/api/auth/verify-email", seller.Session, fields{"code": w.MailedCode(seller.Email)}, "User-Agent", cli))
		w.Must(200, made("POST", "/api/v1/confirmations/"+record.ID, seller.Session, fields{"decision": "confirm"},
			"User-Agent", cli, "If-Match", w.Waiting(seller.Session, record.ID)))
		w.Must(200, made("PUT", path, seller.Session, fields{"status": "void"}))
		w.Must(200, made("PUT", path, owner.Session, fields{"status": "active"}, "User-Agent", "curl/8 svc/1"))
		claim := w.Claim(owner.Session, record.ID)
		w.Must(200, moving(claim, seller.Session, moveTo("under_review")))
		w.Must(200, moving(claim, seller.Session, fields{"status": "rejected", "reason": "Worn out."}))
		d := w.Upload(seller.Session, document(record.ID, "a.pdf", pdf)...)
		w.Must(204, made("DELETE", "/api/documents/"+d.ID, owner.Session, nil, "User-Agent", cli))
		code := w.offer(record.ID, owner, recipient.Email)
		w.Must(204, made("DELETE", "/api/warranties/"+record.ID+"/transfer", owner.Session, nil))
		refused(t, "a code that was called off", w.Do(accepting(recipient.Session, code)), warranty.ValidationFailed)
		w.Transfer(record.ID, owner, recipient)
		w.Must(200, made("PUT", "/api/account", owner.Session, fields{"name": "Olga Neumann"})) // events keep the name at the time

		token := new("Shop till")
		change := func(field, from, to string) warranty.Change {
			return warranty.Change{Field: field, From: warranty.Optional(from), To: warranty.Optional(to)}
		}
		none := []warranty.Change{}
		wanted := []event{
			{Action: "warranty.created", Actor: "Olga", Door: "mcp", TokenName: token, SubjectID: record.ID, Changes: none},
			{Action: "warranty.updated", Actor: "Olga", Door: "cli", TokenName: token, SubjectID: record.ID, Changes: []warranty.Change{change("product_name", "Kettle", "Pot"), change("category", "", "Kitchen")}},
			{Action: "seller.confirmed", Actor: "Sami", Door: "cli", SubjectID: record.ID, Changes: none},
			{Action: "warranty.updated", Actor: "Sami", Door: "api", SubjectID: record.ID, Changes: []warranty.Change{change("status", "active", "void")}},
			{Action: "warranty.updated", Actor: "Olga", Door: "api", SubjectID: record.ID, Changes: []warranty.Change{change("status", "void", "active"), change("seller_confirmed", "true", "false")}},
			{Action: "claim.filed", Actor: "Olga", Door: "api", SubjectID: claim, Changes: none},
			{Action: "claim.moved", Actor: "Sami", Door: "api", SubjectID: claim, Changes: []warranty.Change{change("status", "submitted", "under_review")}},
			{Action: "claim.moved", Actor: "Sami", Door: "api", SubjectID: claim, Changes: []warranty.Change{change("status", "under_review", "rejected")}},
			{Action: "document.uploaded", Actor: "Sami", Door: "api", SubjectID: d.ID, Changes: []warranty.Change{change("file_name", "", "a.pdf")}},
			{Action: "document.deleted", Actor: "Olga", Door: "cli", SubjectID: d.ID, Changes: []warranty.Change{change("file_name", "a.pdf", "")}},
			{Action: "transfer.offered", Actor: "Olga", Door: "api", SubjectID: record.ID, Changes: none},
			{Action: "transfer.cancelled", Actor: "Olga", Door: "api", SubjectID: record.ID, Changes: none},
			{Action: "transfer.offered", Actor: "Olga", Door: "api", SubjectID: record.ID, Changes: none},
			{Action: "transfer.accepted", Actor: "Hedi", Door: "api", SubjectID: record.ID, Changes: none},
		}
		slices.Reverse(wanted)
		for _, reader := range []servertest.Person{recipient, seller} {
			got := w.history(record.ID, reader.Session)
			for i := range got {
				if i > 0 && got[i].At.After(got[i-1].At) {
					t.Errorf("event %d is newer than the one before it", i)
				}
				got[i].At = got[i].At.Truncate(0).UTC()
				if d := w.Clock.Now().Sub(got[i].At); d < 0 || d.Minutes() > 5 {
					t.Errorf("event %d happened at %v", i, got[i].At)
				}
			}
			for i := range got {
				got[i].At = wanted[0].At
			}
			// Only the owner reads the name of a document that is gone, and the seller does not know the new owner.
			if reader.ID == seller.ID {
				wanted[0].Actor = "Owner"
				for i := range wanted {
					if strings.HasPrefix(wanted[i].Action, "document.") {
						wanted[i].Changes = none
					}
				}
			}
			equal(t, "the history as "+reader.Name+" reads it", got, wanted)
		}
		w.pagesOfHistory(t, record.ID, recipient.Session, len(wanted))

		// A deleted record keeps its history.
		w.Must(204, made("DELETE", path, recipient.Session, nil))
		for _, reader := range []servertest.Person{recipient, seller, owner} {
			refused(t, "the history of a deleted record", w.Get("/api/warranties/"+record.ID+"/history", reader.Session), warranty.NotFound)
		}
		equal(t, "events that stay", w.Count(`SELECT count(*) FROM history WHERE thread_id = `+w.IDLiteral(record.ID)), len(wanted)+1)
		equal(t, "the last event", w.Rows(`SELECT action, actor FROM history WHERE thread_id = `+w.IDLiteral(record.ID)+` ORDER BY id DESC LIMIT 1`),
			[]string{fmt.Sprintf("%d | Hedi", warranty.EnumNumber(warranty.WarrantyDeleted))})
	}, busy)
}

// pagesOfHistory reads the history in small pages, and past its end.
func (w *world) pagesOfHistory(t *testing.T, record, session string, total int) {
	t.Helper()
	path := "/api/warranties/" + record + "/history"
	whole := ids(t, w.Get(path+"?limit=100", session))
	var pieces []string
	for page := 1; page <= (total+3)/4; page++ {
		a := w.Get(fmt.Sprintf("%s?limit=4&page=%d", path, page), session)
		pieces = append(pieces, ids(t, a)...)
		equal(t, "the total", a.Header.Get("X-Total-Count"), fmt.Sprint(total))
	}
	equal(t, "the history in pages", pieces, whole)
	equal(t, "newest first", whole, newest(whole...))
	past := w.Get(path+"?limit=4&page=99", session)
	equal(t, "a page past the end", ids(t, past), []string{})
	equal(t, "its total", past.Header.Get("X-Total-Count"), fmt.Sprint(total))
	for query, code := range map[string]warranty.Code{"?limit=0": warranty.ValidationFailed, "?limit=101": warranty.ValidationFailed, "?page=0": warranty.ValidationFailed, "?action=x": warranty.ValidationFailed} {
		refused(t, "the history with "+query, w.Get(path+query, session), code)
	}
}

// TestPeopleReadNoForeignHistory expects the same error for other people's records as for
// unknown ones.
func TestPeopleReadNoForeignHistory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner, stranger := w.Person("Olga"), w.Person("Zoe")
		record := w.Warranty(owner.Session, nil)
		claim := w.Claim(owner.Session, record.ID)
		_, token := w.Token(owner)
		hidden := w.Get("/api/warranties/"+record.ID+"/history", stranger.Session)
		missing := w.Get("/api/warranties/"+unknownID+"/history", stranger.Session)
		refused(t, "a stranger", hidden, warranty.NotFound)
		a, b := problemOf(t, hidden), problemOf(t, missing)
		a.RequestID, b.RequestID = "", ""
		equal(t, "the response to a stranger", a, b)
		// Ids of other kinds of records do not open a history.
		refused(t, "a claim's", w.Get("/api/warranties/"+claim+"/history", owner.Session), warranty.NotFound)
		refused(t, "a token's, as a warranty", w.Get("/api/warranties/"+token+"/history", owner.Session), warranty.NotFound)
		refused(t, "a warranty's, as a token", w.Get("/api/integration-tokens/"+record.ID+"/history", owner.Session), warranty.NotFound)
		refused(t, "a foreign token's", w.Get("/api/integration-tokens/"+token+"/history", stranger.Session), warranty.NotFound)
		var events []event
		w.Must(200, made("GET", "/api/integration-tokens/"+token+"/history", owner.Session, nil)).Into(t, &events)
		equal(t, "a token's own", len(events), 1)
	}, busy)
}

// TestPeopleCannotChangeHistory searches the SQL for statements and triggers that
// change the table in any way but by an insert.
func TestPeopleCannotChangeHistory(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../store/*.go")
	if err != nil {
		t.Fatal(err)
	}
	migrations, err := filepath.Glob("../store/migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	changes := regexp.MustCompile(`(?is)\b(UPDATE|DELETE\s+FROM|TRUNCATE(\s+TABLE)?|REPLACE\s+INTO|MERGE\s+INTO|ALTER\s+TABLE|INSERT\s+OR\s+REPLACE\s+INTO)\s+(ONLY\s+)?"?history\b|(BEFORE|INSTEAD\s+OF)[\w\s]+ON\s+history\b`)
	inserts, looked := 0, 0
	for _, name := range append(names, migrations...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		looked++
		// It erases names and texts when the operator deleted an account, and the name of a document that a former owner deletes.
		if filepath.Base(name) == "erasures.go" {
			text := string(source)
			for _, erasure := range []string{
				"`UPDATE history SET changes = '[]' WHERE thread_id = $1`",
				"`UPDATE history SET changes = '[]' WHERE thread_id = $1 AND subject_id = $2`",
				"`UPDATE history SET actor = $4, token_name = NULL WHERE thread_id = $1 AND id = $2 AND actor_id = $3`",
			} {
				if strings.Count(text, erasure) != 1 {
					t.Errorf("%s does not contain %s once", name, erasure)
				}
				text = strings.Replace(text, erasure, "", 1)
			}
			source = []byte(text)
		}
		for _, column := range []string{"ADD COLUMN account TEXT;", "DROP COLUMN account;"} { // of migration 25
			source = []byte(strings.Replace(string(source), "ALTER TABLE history "+column, "", 1))
		}
		if found := changes.FindString(string(source)); found != "" {
			t.Errorf("%s contains %q", name, found)
		}
		for statement := range strings.SplitSeq(string(source), "`") {
			if strings.Contains(statement, "INSERT INTO history") {
				inserts++
				if strings.Contains(strings.ToUpper(statement), "ON CONFLICT") {
					t.Errorf("%s overwrites existing rows", name)
				}
			}
		}
	}
	if looked < 15 || inserts != 1 {
		t.Errorf("searched %d files and found %d inserts", looked, inserts)
	}
}

// TestOwnersNamesAreSharedByAClaim hands a warranty over: the shop reads the name of the new owner once they filed a
// claim, and not before. Finding S13.
func TestOwnersNamesAreSharedByAClaim(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		shop, kim := w.issuer("Ann"), w.person("Kim", true)
		sold := shop.sells(warranty.CreateWarranty{})
		w.taken(kim, shop.prints(sold.ID))
		names := func(p person) (list []string) {
			t.Helper()
			history, err := w.Service.ListHistory(ctx, p.Principal, warranty.ListHistory{ID: warranty.WarrantyKey{ID: sold.ID}})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range history.Data {
				list = append(list, fmt.Sprint(e.Action, " ", e.Actor))
			}
			return list
		}
		const taken, offered, created = "handover.taken ", "handover.offered Ann", "warranty.created Ann"
		equal(t, "the owner reads", names(kim), []string{taken + "Kim", offered, created})
		equal(t, "the shop reads", names(shop.acting), []string{taken + "Owner", offered, created})
		activity, err := w.Store.Activity(ctx, shop.acting.Account.ID, nil, 1)
		if err != nil || len(activity) != 1 || activity[0].Actor != "Owner" {
			t.Errorf("the activity: %+v, %v", activity, err)
		}
		if _, err := w.Service.FileClaim(ctx, kim.Principal, warranty.FileClaim{
			WarrantyID: warranty.WarrantyKey{ID: sold.ID}, Type: warranty.Repair, Description: "It leaks.", IncidentDate: date("2026-11-16"),
		}); err != nil {
			t.Fatal(err)
		}
		equal(t, "after a claim", names(shop.acting), []string{"claim.filed Kim", taken + "Kim", offered, created})
	})
}

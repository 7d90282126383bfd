package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"warranty.example/svc/internal/find"
	"warranty.example/svc/internal/store/engine"
	"warranty.example/svc/internal/store/lists"
	"warranty.example/svc/warranty"
)

// This file compares answers about lists, which an index may give, with scans of all records.

// anyQuestion returns a random question with every filter and order.
func (s *segmentScript) anyQuestion() warranty.ListWarranties {
	in := s.question()
	if s.random.IntN(2) == 0 {
		in.WarrantyFilter = warranty.WarrantyFilter{Q: in.Q}
	}
	sometimes := func(do func()) {
		if s.random.IntN(8) == 0 {
			do()
		}
	}
	sometimes(func() { in.Q = fmt.Sprint("ext ", s.random.IntN(10)) })
	sometimes(func() { in.Q = string(oneOf(s.script, s.references, "WR-0000")) })
	sometimes(func() { in.Supplier = s.word() })
	sometimes(func() { in.Seller = s.word() })
	sometimes(func() { in.Customer = s.customer() })
	sometimes(func() { in.PurchasedFrom = s.today() + warranty.Date(s.random.IntN(60)-30) })
	sometimes(func() { in.PurchasedTo = s.today() + warranty.Date(s.random.IntN(60)-30) })
	sometimes(func() { in.EndsFrom = s.today() + warranty.Date(s.random.IntN(40)) })
	sometimes(func() { in.EndsTo = s.today() + warranty.Date(s.random.IntN(40)) })
	sometimes(func() { in.CoveredOn = s.today() + warranty.Date(s.random.IntN(40)-20) })
	if s.random.IntN(4) == 0 {
		open := s.random.IntN(2) == 0
		in.HasOpenClaim = &open
	}
	sorts := in.Sort.Values()
	in.Sort = warranty.WarrantySort(sorts[s.random.IntN(len(sorts))])
	return in
}

// scan returns the records that a question selects, in its order, and whether the list has an index.
func (s *segmentScript) scan(t fataler, l *lists.List, question *find.Question) (records []find.Record, indexed bool) {
	ctx := context.Background()
	err := s.db.Read(ctx, func(q engine.Querier) error {
		index, err := s.lists.Open(ctx, q, l.Key)
		indexed = index != nil
		if err != nil {
			return err
		}
		return s.lists.Each(ctx, q, l, question, func(r find.Record) { records = append(records, r) })
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(a, b find.Record) int { return question.Compare(&a, &b) })
	return records, indexed
}

// compare asks random questions and compares the answers with scans of all records. It returns the kinds
// of records that have an index.
func (s *segmentScript) compare(t fataler, user warranty.ID, step int) map[lists.Kind]bool {
	indexed := map[lists.Kind]bool{}
	if s.compareWarranties(t, user, step) {
		indexed[lists.Warranties] = true
	}
	claims := warranty.ListClaims{Paging: s.paging()}
	documents := warranty.ListDocuments{Paging: s.paging()}
	if s.random.IntN(2) == 0 {
		claims.Status = warranty.EnumOf[warranty.ClaimStatus](s.random.Int64N(9))
	}
	if s.random.IntN(4) > 0 {
		claims.Q, documents.Q = s.anyWords(), s.anyWords()
	}
	if s.random.IntN(4) == 0 {
		claims.Customer = s.customer()
	}
	person := s.anyWork(&claims)
	_, question, err := s.claimList(user, person, claims)
	if err != nil {
		t.Fatal(err)
	}
	if compareChildren(t, s, step, lists.Of(user, lists.Claims), question, claims.Paging, claimShape,
		func() ([]warranty.Claim, int64, error) { return s.Claims(context.Background(), user, person, claims) }) {
		indexed[lists.Claims] = true
		s.comparePlaces(t, user, person, step, claims, question)
	}
	if compareChildren(t, s, step, lists.Of(user, lists.Documents), childQuestion(documents.Q, ""), documents.Paging, documentShape,
		func() ([]warranty.Document, int64, error) { return s.Documents(context.Background(), user, documents) }) {
		indexed[lists.Documents] = true
	}
	open := true
	records, _ := s.scan(t, lists.Of(user, lists.Claims), &find.Question{OpenClaim: &open})
	if n, err := s.OpenClaims(context.Background(), user); err != nil || n != int64(len(records)) {
		t.Fatalf("after step %d, %d open claims instead of %d; %v", step, n, len(records), err)
	}
	return indexed
}

// anyWork adds filters and an order to a list of claims, and returns who asks.
func (s *segmentScript) anyWork(in *warranty.ListClaims) (person warranty.ID) {
	person = s.user()
	rarely := func(set func()) {
		if s.random.IntN(5) == 0 {
			set()
		}
	}
	rarely(func() { in.Queue = warranty.EnumOf[warranty.ClaimQueue](1 + s.random.Int64N(4)) })
	rarely(func() { in.WaitingFor = warranty.EnumOf[warranty.ClaimSide](1 + s.random.Int64N(2)) })
	rarely(func() { in.Replied = true })
	rarely(func() {
		in.Assignee = oneOf(s.script, []string{warranty.AssignedToMe, warranty.AssignedToNone}, warranty.AssignedToNone)
	})
	rarely(func() { in.Age = new(s.random.IntN(1000)) })
	rarely(func() { in.UpdatedSince = new(s.now().Add(-time.Duration(s.random.IntN(40)) * time.Microsecond)) })
	in.Sort = warranty.EnumOf[warranty.ClaimSort](s.random.Int64N(5))
	return person
}

// comparePlaces compares the places of claims in a list, and the counts of the queues, with a scan.
func (s *segmentScript) comparePlaces(
	t fataler, user, person warranty.ID, step int, in warranty.ListClaims, question *find.Question,
) {
	ctx := context.Background()
	records, _ := s.scan(t, lists.Of(user, lists.Claims), question)
	for i := range records {
		want := warranty.Place{At: int64(i + 1), Of: int64(len(records))}
		if i > 0 {
			want.Previous = &records[i-1].ID
		}
		if i+1 < len(records) {
			want.Next = &records[i+1].ID
		}
		got, err := s.ClaimPlace(ctx, user, person, in, records[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after step %d, place %d for %+v; scan (-) and index (+):\n%s", step, i, in, diff)
		}
	}
	want := warranty.ClaimCounts{}
	for queue, count := range map[warranty.ClaimQueue]*int64{warranty.WaitingForUs: &want.WaitingForUs,
		warranty.WorkInProgress: &want.InProgress, warranty.WaitingForThem: &want.WaitingForThem, warranty.WorkDone: &want.Done} {
		for _, only := range []struct {
			in warranty.ListClaims
			n  *int64
		}{
			{warranty.ListClaims{}, count},
			{warranty.ListClaims{Assignee: warranty.AssignedToMe}, &want.Mine},
			{warranty.ListClaims{Assignee: warranty.AssignedToNone}, &want.Unassigned},
			{warranty.ListClaims{Replied: true}, &want.Replied},
		} {
			only.in.Queue, only.in.Sort = queue, warranty.ClaimsByWaiting
			_, question, err := s.claimList(user, person, only.in)
			if err != nil {
				t.Fatal(err)
			}
			found, _ := s.scan(t, lists.Of(user, lists.Claims), question)
			if only.n == count || queue == warranty.WaitingForUs {
				*only.n = int64(len(found))
			}
			if only.n == count && queue == warranty.WaitingForUs && len(found) > 0 {
				want.Oldest = new(time.UnixMicro(found[0].Waits).UTC())
			}
		}
	}
	got, err := s.ClaimCounts(ctx, user, person)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("after step %d, counts of queues; scan (-) and index (+):\n%s", step, diff)
	}
}

// anyWords returns a query that finds something now and then.
func (s *segmentScript) anyWords() string {
	switch s.random.IntN(6) {
	case 0:
		return string(oneOf(s.script, s.references, "WR-0000"))
	case 1:
		return fmt.Sprint("ext ", s.random.IntN(10))
	case 2:
		return warranty.EnumOf[warranty.DocumentType](1 + s.random.Int64N(8)).String()
	case 3:
		return "CL"
	case 4:
		return s.address()
	}
	return s.word()
}

// compareChildren compares a page of claims or documents with a scan. It reports whether there is an
// index.
func compareChildren[T any](
	t fataler, s *segmentScript, step int, l *lists.List, question *find.Question, p warranty.Paging, sh *lists.Shape[T],
	list func() ([]T, int64, error),
) bool {
	records, indexed := s.scan(t, l, question)
	var want, got []warranty.ID
	for _, r := range pageOf(records, p) {
		want = append(want, r.ID)
	}
	rows, total, err := list()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		got = append(got, sh.ID(row))
	}
	if diff := cmp.Diff(want, got); diff != "" || total != int64(len(records)) {
		t.Fatalf("after step %d, kind %d, total %d instead of %d for %+v %+v; scan (-) and index (+):\n%s",
			step, l.Kind, total, len(records), question, question.Query, diff)
	}
	return indexed
}

// pageOf returns the records of a page.
func pageOf(all []find.Record, p warranty.Paging) []find.Record {
	from := min(p.Offset(), int64(len(all)))
	return all[from:min(from+int64(p.Limit), int64(len(all)))]
}

// compareWarranties is compare for warranties.
func (s *segmentScript) compareWarranties(t fataler, user warranty.ID, step int) bool {
	ctx, in := context.Background(), s.anyQuestion()
	question := find.QuestionOf(in.WarrantyFilter, in.Sort, s.today())
	groups := warranty.SummaryGroup("").Values()
	summarize := warranty.SummarizeWarranties{WarrantyFilter: in.WarrantyFilter, Limit: 3,
		GroupBy: warranty.SummaryGroup(groups[s.random.IntN(len(groups))])}
	l := lists.Of(user, lists.Warranties)
	if in.Assurance != "" {
		question.Assurance = "" // SQL decides it
		l.Narrow(assuredBy(in.Assurance), slices.Repeat([]any{s.Now()}, strings.Count(assuredBy(in.Assurance), "?"))...)
	}
	records, indexed := s.scan(t, l, question)
	counts := find.NewCounts(summarize.GroupBy)
	for _, r := range records {
		counts.Add(&r, s.today())
	}
	var want, got []warranty.ID
	for _, r := range pageOf(records, in.Paging) {
		want = append(want, r.ID)
	}
	list, total, err := s.Warranties(ctx, user, in, s.today())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		got = append(got, w.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || total != int64(len(records)) {
		t.Fatalf("after step %d, total %d instead of %d for %+v; scan (-) and index (+):\n%s",
			step, total, len(records), in, diff)
	}
	summary, err := s.Summary(ctx, user, summarize, s.today())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(counts.Summary(s.today(), 3), summary); diff != "" {
		t.Fatalf("after step %d, by %s, for %+v; scan (-) and index (+):\n%s", step, summarize.GroupBy, in, diff)
	}
	s.compareEnding(t, user)
	return indexed
}

// compareEnding compares the warranties that end soon, and the counts of the overview, with a scan of all records.
func (s *segmentScript) compareEnding(t fataler, user warranty.ID) {
	ctx, last := context.Background(), s.today()+warranty.Date(s.random.IntN(40))
	question := &find.Question{Today: s.today(), ExpiringBy: &last, Sort: warranty.ByEndDate}
	records, _ := s.scan(t, lists.Of(user, lists.Warranties), question)
	want, days := []warranty.ID{}, map[warranty.Date]int64{}
	for _, r := range records {
		days[r.End]++
	}
	for _, r := range records[:min(3, len(records))] {
		want = append(want, r.ID)
	}
	list, err := s.Ending(ctx, user, s.today(), last, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := []warranty.ID{}
	for _, w := range list {
		got = append(got, w.ID)
	}
	counts, err := s.EndDates(ctx, user, s.today(), last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got) + cmp.Diff(days, counts); diff != "" {
		t.Fatalf("ending by %v; scan (-) and index (+):\n%s", last, diff)
	}
	all, _ := s.scan(t, lists.Of(user, lists.Warranties), &find.Question{Today: s.today()})
	var statuses Statuses
	for _, r := range all {
		statuses.Total++
		if r.Standing == warranty.Active && r.End < s.today() {
			statuses.Expired++
		} else if r.Standing == warranty.Active && r.Start <= s.today() {
			statuses.Active++
		}
	}
	counted, err := s.CountStatuses(ctx, user, s.today())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statuses, counted); diff != "" {
		t.Fatalf("statuses; scan (-) and index (+):\n%s", diff)
	}
}

type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// issuerStands and sellerStands are conditions in SQL on an access row of a warranty that its issuer or its seller is
// an organization with a verified domain that stands behind it, as WarrantyByReference has it. ? is the time.
var (
	issuerStands = `EXISTS (SELECT 1 FROM warranties w JOIN users i ON i.id = w.issuer_id
		WHERE w.id = a.item_id AND i.kind = 2 AND ` + domainOf(`i.id`) + ` IS NOT NULL
			AND (w.offered_at IS NOT NULL AND w.taken_at IS NULL AND w.offer_expires_at > ? OR NOT EXISTS (SELECT 1 FROM access own
				WHERE own.user_id = w.issuer_id AND own.kind = 1 AND own.item_id = w.id AND own.roles & 1 <> 0)))`
	sellerStands = `EXISTS (SELECT 1 FROM warranties w JOIN users s ON s.id = w.seller_id
		WHERE w.id = a.item_id AND s.kind = 2 AND ` + domainOf(`s.id`) + ` IS NOT NULL)`
)

// assuredBy returns the condition on an access row of a warranty that it has an assurance.
func assuredBy(a warranty.Assurance) string {
	switch a {
	case warranty.IssuerVerified:
		return issuerStands
	case warranty.SellerConfirmed:
		return `NOT ` + issuerStands + ` AND ` + sellerStands
	}
	return `NOT ` + issuerStands + ` AND NOT ` + sellerStands
}

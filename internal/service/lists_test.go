package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/store"
	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestListsAndReadsAgree runs random histories and then reads everything as every user:
// a list, over all of its pages, shows exactly what can be read one by one and what a
// naive model of the contract expects.
func TestListsAndReadsAgree(t *testing.T) {
	eachBoth(t, func(t *testing.T, w *world) {
		w.Service.Store.SegmentLists(1, 2, 1) // every list is a long one
		checks := 100
		if w.postgres {
			checks = testenv.Times(30, 100) // each takes several times as long
		}
		testenv.Check(t, checks, func(t *rapid.T) {
			s := &story{T: t, world: w}
			for range 3 {
				s.newcomer()
			}
			steps := map[string]func(){
				"create":       s.create,
				"create again": s.create,
				"update":       s.update,
				"delete":       s.delete,
				"verify":       s.verify,
				"transfer":     s.transfer,
				"issue":        s.issue,
				"confirm":      s.confirm,
				"leave":        s.leave,
				"correct":      s.correct,
				"file":         s.file,
				"move":         s.move,
				"upload":       s.upload,
				"remove":       s.remove,
			}
			names := []string{
				"create", "create again", "update", "update", "delete", "verify", "transfer", "issue", "confirm", "confirm", "leave", "file", "move", "upload",
				"upload", "remove",
			}
			s.create()
			for range rapid.IntRange(3, 14).Draw(t, "steps") {
				steps[rapid.SampledFrom(names).Draw(t, "step")]()
				if rapid.Bool().Draw(t, "index") {
					if err := w.Service.Store.MaintainSegments(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, p := range s.people {
				s.checkWarranties(p)
				s.checkClaims(p)
				s.checkDocuments(p)
				s.checkOverview(p)
			}
		})
		checkAccess(t, w)
	}, busy)
}

// story is a random history and a model of its expected result.
type story struct {
	*rapid.T
	world   *world
	people  []*actor
	records []*modelRecord
	claims  []*modelClaim
	papers  []*modelPaper
}

type actor struct {
	person
	verified bool
}

type modelRecord struct {
	warranty.Warranty
	owner, issuer *actor   // the owner is nil once they removed it from their account
	sellers       []*actor // who confirmed it, and those who did before it was corrected
	deleted       bool
}

type modelClaim struct {
	id     warranty.ID
	number warranty.Reference
	on     *modelRecord
	filer  *actor
	status warranty.ClaimStatus
}

// text is the description that an account searches: not that of a claim from before it owned the record.
func (c *modelClaim) text(a *actor) string {
	if c.on.owner == a && c.filer != a {
		return ""
	}
	return "It broke."
}

// seenBy follows the contract: owners see everything that earlier owners gave them; businesses see what they and other
// businesses uploaded. A former owner sees what they uploaded and did not give away, without seeing the record.
func (p *modelPaper) seenBy(a *actor) bool {
	if p.keptBy == a && p.uploader == a && p.on.roles(a) == (warranty.Roles{}) {
		return !p.removed && !p.on.deleted
	}
	shared := p.business
	if p.on.owner == a {
		shared = p.keptBy == nil || p.keptBy == a
	}
	return p.on.roles(a) != (warranty.Roles{}) && !p.removed && (shared || p.uploader == a)
}

type modelPaper struct {
	business bool
	id       warranty.ID
	on       *modelRecord
	name     string
	uploader *actor
	keptBy   *actor // the former owner with whom it stayed
	removed  bool
}

// roles returns a user's roles on a record according to the contract.
func (r *modelRecord) roles(a *actor) (roles warranty.Roles) {
	if r.deleted {
		return roles
	}
	if r.owner == a {
		roles = roles.With(warranty.Owner)
	}
	if r.issuer == a {
		roles = roles.With(warranty.Issuer)
	}
	if slices.Contains(r.sellers, a) {
		roles = roles.With(warranty.Seller)
	}
	return roles
}

func (r *modelRecord) dropSeller(a *actor) {
	r.sellers = slices.DeleteFunc(r.sellers, func(other *actor) bool { return other == a })
}

var (
	ctx   = context.Background()
	texts = []string{"Kettle", "kettle", "KETTLE", "Ünï", "ünÏ", "日本", "100%", "a_b", "axb", `c\d`, "İz", "x"}
)

func (s *story) text(label string) string { return rapid.SampledFrom(texts).Draw(s.T, label) }

func (s *story) newcomer() {
	a := &actor{verified: rapid.Bool().Draw(s.T, "verified")}
	a.person = s.world.person("P", a.verified)
	s.people = append(s.people, a)
}

func (s *story) anActor() *actor { return rapid.SampledFrom(s.people).Draw(s.T, "actor") }

func (s *story) someRecord() *modelRecord {
	if len(s.records) == 0 {
		s.create()
	}
	return rapid.SampledFrom(s.records).Draw(s.T, "record")
}

// key returns the key of a record, by id or by reference number.
func (s *story) key(r *modelRecord) warranty.WarrantyKey {
	if rapid.Bool().Draw(s.T, "by reference") {
		return warranty.WarrantyKey{Reference: r.ReferenceNumber}
	}
	return warranty.WarrantyKey{ID: r.ID}
}

// claimKey returns the key of a claim, by id or by claim number.
func (s *story) claimKey(c *modelClaim) warranty.ClaimKey {
	if rapid.Bool().Draw(s.T, "by number") {
		return warranty.ClaimKey{Reference: c.number}
	}
	return warranty.ClaimKey{ID: c.id}
}

// day returns a day around today, where statuses change, or the end of time.
func (s *story) day(label string, today warranty.Date) warranty.Date {
	days := []int{-400, -31, -2, -1, 0, 1, 2, 30, 31, 400}
	return today + warranty.Date(rapid.SampledFrom(days).Draw(s.T, label))
}

func (s *story) today() warranty.Date { return warranty.DateOf(s.world.Clock.Now()) }

func (s *story) create() {
	a := s.anActor()
	start := s.day("start", s.today())
	in := warranty.CreateWarranty{
		ProductName: s.text("product"),
		StartDate:   start,
		EndDate:     max(start, s.day("end", s.today())),
	}
	if rapid.Bool().Draw(s.T, "for life") {
		in.EndDate = warranty.Lifetime
	}
	if rapid.Bool().Draw(s.T, "has category") {
		in.Category = s.text("category")
	}
	if rapid.Bool().Draw(s.T, "has serial") {
		in.SerialNumber = s.text("serial")
	}
	for _, field := range []*string{&in.Description, &in.Supplier, &in.SellerName} {
		if rapid.Bool().Draw(s.T, "has more text") {
			*field = s.text("more text")
		}
	}
	if rapid.Bool().Draw(s.T, "has external id") {
		in.ExternalID = "ext-" + s.world.Service.NewID().String()
	}
	if rapid.Bool().Draw(s.T, "has customer") {
		in.CustomerName = s.text("customer")
	}
	if rapid.Bool().Draw(s.T, "has purchase") {
		in.PurchaseDate = s.day("bought", s.today())
	}
	if rapid.Bool().Draw(s.T, "has seller") {
		in.SellerEmail = s.anActor().User.Email
	}
	p := a.Principal
	p.User.EmailVerified = a.verified
	made, err := s.world.Service.CreateWarranty(ctx, p, in)
	s.must(err)
	r := &modelRecord{Warranty: made, owner: a, issuer: a}
	if a.verified && in.SellerEmail == a.User.Email {
		r.sellers = append(r.sellers, a)
	}
	if made.Roles != r.roles(a) {
		s.Fatalf("the creator is told that they are %v, and is %v", made.Roles.Names(), r.roles(a).Names())
	}
	s.records = append(s.records, r)
}

func (s *story) must(err error) {
	if err != nil {
		s.Fatal(err)
	}
}

func (s *story) update() {
	a, r := s.anActor(), s.someRecord()
	in := warranty.UpdateWarranty{ID: s.key(r)}
	switch rapid.IntRange(0, 3).Draw(s.T, "what") {
	case 0:
		name, category := s.text("product"), ""
		if rapid.Bool().Draw(s.T, "has category") {
			category = s.text("category")
		}
		in.ProductName, in.Category = &name, &category
	case 1:
		start := s.day("start", s.today())
		end := max(start, s.day("end", s.today()))
		in.StartDate, in.EndDate = &start, &end
	default:
		status := warranty.EnumOf[warranty.Status](rapid.Int64Range(1, 3).Draw(s.T, "status"))
		in.Status = &status
	}
	changed, err := s.world.Service.UpdateWarranty(ctx, a.Principal, in)
	if roles := r.roles(a); roles == (warranty.Roles{}) {
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("an update by a stranger: %v", err)
		}
		return
	}
	switch codeOf(err) {
	case warranty.RoleNotAllowed, warranty.InvalidTransition:
	default:
		s.must(err)
		changed.ExternalID, changed.CustomerName = r.ExternalID, r.CustomerName // others do not see them
		r.Warranty = changed
	}
}

// correct has an actor correct the serial number and the seller of a record.
func (s *story) correct() {
	a, r := s.anActor(), s.someRecord()
	serial, description, seller := s.text("serial"), s.text("more text"), ""
	in := warranty.CorrectWarranty{ID: s.key(r), SerialNumber: &serial, Description: &description, Reason: "Typing error"}
	if rapid.Bool().Draw(s.T, "changes seller") {
		if rapid.Bool().Draw(s.T, "has seller") {
			seller = s.anActor().User.Email
		}
		in.SellerEmail = &seller
	}
	p := a.Principal
	p.User.EmailVerified = a.verified
	changed, err := s.world.Service.CorrectWarranty(ctx, p, in)
	switch roles := r.roles(a); {
	case roles == (warranty.Roles{}):
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("corrected by a stranger: %v", err)
		}
	case r.issuer != a:
		if codeOf(err) != warranty.RoleNotAllowed {
			s.Fatalf("corrected by who is not the issuer: %v", err)
		}
	default:
		s.must(err)
		if before := r.SellerEmail; in.SellerEmail != nil && (before == nil) != (seller == "") || before != nil && in.SellerEmail != nil && *before != seller {
			if r.dropSeller(a); !slices.ContainsFunc(s.claims, func(c *modelClaim) bool { return c.on == r }) {
				r.sellers = nil // nobody who may decide a claim is removed
			}
			if a.verified && seller == a.User.Email {
				r.sellers = append(r.sellers, a)
			}
		}
		if r.Warranty = changed; changed.Roles != r.roles(a) {
			s.Fatalf("who corrected it is told that they are %v, and is %v", changed.Roles.Names(), r.roles(a).Names())
		}
	}
}

// confirm has an actor confirm a record, which only works for who verified its seller's address.
func (s *story) confirm() {
	a, r := s.anActor(), s.someRecord()
	_, err := s.world.Service.DecideConfirmation(ctx, a.Principal, warranty.DecideConfirmation{
		ID: s.key(r), Decision: warranty.Confirm, IfMatch: s.world.version(r.ID),
	})
	if r.deleted || !a.verified || r.SellerEmail == nil || *r.SellerEmail != a.User.Email {
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("confirmed by someone else: %v", err)
		}
		return
	}
	s.must(err)
	r.dropSeller(a)
	r.sellers = append(r.sellers, a)
}

func (s *story) leave() {
	a, r := s.anActor(), s.someRecord()
	_, err := s.world.Service.LeaveWarranty(ctx, a.Principal, warranty.LeaveWarranty{ID: s.key(r)})
	switch roles := r.roles(a); {
	case roles == (warranty.Roles{}):
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("left by a stranger: %v", err)
		}
	case !slices.Contains(r.sellers, a):
		if codeOf(err) != warranty.RoleNotAllowed {
			s.Fatalf("left by who is not the seller: %v", err)
		}
	default:
		s.must(err)
		r.dropSeller(a)
	}
}

// issue hands a self-recorded warranty over to someone else.
func (s *story) issue() {
	r, to := s.someRecord(), s.anActor()
	if r.deleted || r.owner != r.issuer || to == r.owner {
		return
	}
	s.world.issue(r.ID, r.owner.person, to.person)
	for _, p := range s.papers {
		if p.on == r && p.uploader == r.issuer {
			p.business = true
		}
	}
	r.owner = to
}

func (s *story) delete() {
	a, r := s.anActor(), s.someRecord()
	_, err := s.world.Service.DeleteWarranty(ctx, a.Principal, warranty.DeleteWarranty{ID: s.key(r), Force: new(true)})
	switch roles := r.roles(a); {
	case roles == (warranty.Roles{}):
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("deleted by a stranger: %v", err)
		}
	case r.owner != a:
		if codeOf(err) != warranty.RoleNotAllowed {
			s.Fatalf("deleted by who is not the owner: %v", err)
		}
	case rapid.Bool().Draw(s.T, "restored"):
		s.must(err)
		_, err := s.world.Service.RestoreWarranty(ctx, a.Principal, warranty.RestoreWarranty{ID: s.key(r)})
		s.must(err)
		if r.issuer != a {
			r.dropSeller(a)
		}
	case r.issuer == a:
		s.must(err)
		r.deleted = true
	default: // removed from the account
		s.must(err)
		for _, p := range s.papers {
			p.removed = p.removed || p.on == r && p.uploader == a && !p.business
		}
		r.owner = nil
		r.dropSeller(a)
	}
}

func (s *story) verify() {
	a := s.anActor()
	_, err := s.world.Service.VerifyEmail(ctx, a.Principal,
		warranty.VerifyEmail{Code: s.world.code(a.User, store.ForVerification)})
	s.must(err)
	a.verified = true
}

func (s *story) transfer() {
	r, to := s.someRecord(), s.anActor()
	if r.owner == nil {
		return
	}
	in := warranty.OfferTransfer{ID: s.key(r), Email: to.User.Email}
	var stay []*modelPaper
	for _, p := range s.papers {
		if p.on != r || p.removed || p.business || p.keptBy != nil {
			continue
		}
		if rapid.Bool().Draw(s.T, "goes along") {
			in.Documents = append(in.Documents, p.id.String())
		} else {
			stay = append(stay, p)
		}
	}
	offer, err := s.world.Service.OfferTransfer(ctx, r.owner.Principal, in)
	if r.deleted {
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("offered after it was deleted: %v", err)
		}
		return
	}
	if r.Standing != warranty.Active {
		if codeOf(err) != warranty.InvalidTransition {
			s.Fatalf("offered while %s: %v", r.Standing, err)
		}
		return
	}
	s.must(err)
	taker := to.Principal
	taker.User.EmailVerified = to.verified
	got, err := s.world.Service.Take(ctx, taker, warranty.TakeHandover{Code: offer.Code})
	if !to.verified || to == r.owner {
		if code := codeOf(err); code != warranty.EmailNotVerified && code != warranty.RoleNotAllowed {
			s.Fatalf("taken by its owner, or without a verified address: %v", err)
		}
		return
	}
	s.must(err)
	for _, p := range stay {
		p.keptBy = r.owner
	}
	if r.owner == r.issuer {
		r.dropSeller(r.owner)
		r.issuer, r.ExternalID, r.CustomerName = to, nil, nil
	}
	r.owner = to
	if got.Roles != r.roles(to) {
		s.Fatalf("the new owner is told that they are %v, and is %v", got.Roles.Names(), r.roles(to).Names())
	}
}

func (s *story) file() {
	r := s.someRecord()
	if r.deleted || r.owner == nil || r.Standing != warranty.Active || r.StartDate > s.today() {
		return
	}
	c, err := s.world.Service.FileClaim(ctx, r.owner.Principal, warranty.FileClaim{
		WarrantyID:   s.key(r),
		Type:         warranty.Repair,
		Description:  "It broke.",
		IncidentDate: r.StartDate,
	})
	s.must(err)
	s.claims = append(s.claims, &modelClaim{id: c.ID, number: c.ClaimNumber, on: r, filer: r.owner, status: c.Status})
}

func (s *story) move() {
	if len(s.claims) == 0 {
		return
	}
	c, a := rapid.SampledFrom(s.claims).Draw(s.T, "claim"), s.anActor()
	statuses := []warranty.ClaimStatus{warranty.UnderReview, warranty.Approved, warranty.InProgress, warranty.Withdrawn}
	to := rapid.SampledFrom(statuses).Draw(s.T, "to")
	moved, err := s.world.Service.MoveClaim(ctx, a.Principal, warranty.MoveClaim{ID: s.claimKey(c), Status: to})
	if c.on.roles(a) == (warranty.Roles{}) {
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("a claim moved by a stranger: %v", err)
		}
		return
	}
	switch codeOf(err) {
	case warranty.RoleNotAllowed, warranty.InvalidTransition:
	default:
		s.must(err)
		c.status = moved.Status
	}
}

func (s *story) upload() {
	r, a := s.someRecord(), s.anActor()
	names := []string{"receipt.txt", "RECEIPT.txt", "Ünï.txt", "100% a_b.txt", "日本.txt"}
	name := rapid.SampledFrom(names).Draw(s.T, "name")
	d, err := s.world.upload(a.person, r.ID, name)
	if r.roles(a) == (warranty.Roles{}) {
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("uploaded by a stranger: %v", err)
		}
		return
	}
	s.must(err)
	s.papers = append(s.papers, &modelPaper{
		id: d.ID, on: r, name: d.FileName, uploader: a, business: r.owner != a,
	})
}

func (s *story) remove() {
	if len(s.papers) == 0 {
		return
	}
	p, a := rapid.SampledFrom(s.papers).Draw(s.T, "paper"), s.anActor()
	_, err := s.world.Service.DeleteDocument(ctx, a.Principal, warranty.DeleteDocument{ID: p.id})
	switch roles := p.on.roles(a); {
	case !p.seenBy(a):
		if codeOf(err) != warranty.NotFound {
			s.Fatalf("removed by a stranger: %v", err)
		}
	case a == p.uploader || roles.Has(warranty.Owner):
		s.must(err)
		p.removed = true
	default:
		if codeOf(err) != warranty.RoleNotAllowed {
			s.Fatalf("removed without permission: %v", err)
		}
	}
}

// allPages reads all pages of a list and checks that it matches its total, is sorted
// newest first and has no duplicates.
func allPages[T any](
	s *story, limit int, page func(warranty.Paging) (warranty.Page[T], error), id func(T) warranty.ID,
) (list []T) {
	for n := 1; ; n++ {
		got, err := page(warranty.Paging{Page: n, Limit: limit})
		s.must(err)
		list = append(list, got.Data...)
		want := warranty.Pagination{
			Page:       n,
			Limit:      limit,
			Total:      got.Pagination.Total,
			TotalPages: (got.Pagination.Total + int64(limit) - 1) / int64(limit),
		}
		if got.Pagination != want {
			s.Fatalf("page %d says %+v", n, got.Pagination)
		}
		if len(got.Data) < limit {
			if int64(len(list)) != got.Pagination.Total {
				s.Fatalf("%d records on all pages, total %d", len(list), got.Pagination.Total)
			}
			break
		}
	}
	for i := 1; i < len(list); i++ {
		before, after := id(list[i-1]), id(list[i])
		if slices.Compare(before[:], after[:]) <= 0 {
			s.Fatalf("%s comes before %s", before, after)
		}
	}
	return list
}

// finds is how q matches according to the contract: every word starts a word of a text, or is part of
// a code if it has 3 characters. Case and accents are ignored.
func finds(q string, texts, codes []string) bool {
	wanted := words(q)
	for _, word := range wanted {
		starts := slices.ContainsFunc(words(strings.Join(slices.Concat(texts, codes), " ")),
			func(other string) bool { return strings.HasPrefix(other, word) })
		inside := len([]rune(word)) >= 3 && slices.ContainsFunc(codes,
			func(code string) bool { return strings.Contains(strings.Join(words(code), ""), word) })
		if !starts && !inside {
			return false
		}
	}
	return len(wanted) > 0
}

func words(text string) []string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ReplaceAll(strings.ToLower(text), "ß", "ss")))
	return strings.FieldsFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// finds applies q to a warranty.
func (r *modelRecord) finds(q string, roles warranty.Roles, more ...string) bool {
	codes := []string{orEmpty(r.SerialNumber), string(r.ReferenceNumber)}
	if roles.Has(warranty.Issuer) {
		codes, more = append(codes, orEmpty(r.ExternalID)), append(more, orEmpty(r.CustomerName))
	}
	return finds(q, append(more, r.ProductName, orEmpty(r.Description), orEmpty(r.Category), orEmpty(r.Supplier),
		orEmpty(r.SellerName)), codes)
}

// isFor reports whether the reader issued the record to a customer with words in their name.
func (r *modelRecord) isFor(customer string, roles warranty.Roles) bool {
	return roles.Has(warranty.Issuer) && finds(customer, []string{orEmpty(r.CustomerName)}, nil)
}

// shown is the status that the contract derives from the dates.
func (r *modelRecord) shown(today warranty.Date) warranty.Status {
	switch {
	case r.Standing == warranty.Active && today < r.StartDate:
		return warranty.Upcoming
	case r.Standing == warranty.Active && today > r.EndDate:
		return warranty.Expired
	}
	return r.Standing
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// matches applies the filters according to the contract.
func (r *modelRecord) matches(in warranty.ListWarranties, roles warranty.Roles, today warranty.Date, open bool) bool {
	same := func(filter string, values ...*string) bool {
		return filter == "" || slices.ContainsFunc(values, func(value *string) bool {
			return value != nil && strings.EqualFold(*value, filter)
		})
	}
	active := r.shown(today) == warranty.Active
	return (in.Status == "" || r.shown(today) == in.Status) &&
		same(in.Category, r.Category) && same(in.Supplier, r.Supplier) && same(in.Seller, r.SellerName, r.SellerEmail, r.Supplier) &&
		(in.Role == "" || roles.Has(in.Role)) &&
		(in.Q == "" || r.finds(in.Q, roles)) &&
		(in.EndsFrom == 0 || r.EndDate >= in.EndsFrom) && (in.EndsTo == 0 || r.EndDate <= in.EndsTo) &&
		(in.CoveredOn == 0 || r.Covers(in.CoveredOn)) &&
		(in.PurchasedFrom == 0 || r.PurchaseDate != nil && *r.PurchaseDate >= in.PurchasedFrom) &&
		(in.PurchasedTo == 0 || r.PurchaseDate != nil && *r.PurchaseDate <= in.PurchasedTo) &&
		(in.Customer == "" || r.isFor(in.Customer, roles)) &&
		(in.HasOpenClaim == nil || *in.HasOpenClaim == open) &&
		(in.ExpiringWithinDays == nil ||
			active && r.EndDate != warranty.Lifetime && int(r.EndDate-today) <= *in.ExpiringWithinDays)
}

// hasOpenClaim reports whether a claim on a record is not closed.
func (s *story) hasOpenClaim(r *modelRecord) bool {
	return slices.ContainsFunc(s.claims, func(c *modelClaim) bool {
		return c.on == r && !slices.Contains([]warranty.ClaimStatus{
			warranty.Rejected, warranty.Resolved, warranty.Withdrawn,
		}, c.status)
	})
}

func (s *story) filter() (in warranty.ListWarranties) {
	if rapid.Bool().Draw(s.T, "by status") {
		in.Status = warranty.EnumOf[warranty.Status](rapid.Int64Range(1, 5).Draw(s.T, "status"))
	}
	if rapid.IntRange(0, 3).Draw(s.T, "by category") == 0 {
		in.Category = s.text("category")
	}
	if rapid.IntRange(0, 3).Draw(s.T, "by role") == 0 {
		in.Role = warranty.EnumOf[warranty.Role](rapid.Int64Range(1, 3).Draw(s.T, "role"))
	}
	switch rapid.IntRange(0, 8).Draw(s.T, "by text") {
	case 0:
		in.Q = s.text("q")
	case 1:
		in.Q = string(s.someRecord().ReferenceNumber)[3:7]
	case 2:
		if external := orEmpty(s.someRecord().ExternalID); external != "" {
			in.Q = external[len(external)-8:]
		}
	}
	if rapid.IntRange(0, 3).Draw(s.T, "by end") == 0 {
		days := rapid.SampledFrom([]int{0, 1, 2, 30, 3650}).Draw(s.T, "days")
		in.ExpiringWithinDays = &days
	}
	rarely := func(label string) bool { return rapid.IntRange(0, 5).Draw(s.T, "by "+label) == 0 }
	day := func(label string) warranty.Date {
		return s.today() + warranty.Date(rapid.IntRange(-400, 400).Draw(s.T, label))
	}
	if rarely("supplier") {
		in.Supplier = s.text("supplier")
	}
	if rarely("seller") {
		in.Seller = s.text("seller")
	}
	if rarely("first end") {
		in.EndsFrom = day("ends from")
	}
	if rarely("last end") {
		in.EndsTo = max(in.EndsFrom, day("ends to"))
	}
	if rarely("coverage") {
		in.CoveredOn = day("covered on")
	}
	if rarely("customer") {
		in.Customer = s.text("customer")
	}
	if rarely("first purchase") {
		in.PurchasedFrom = day("purchased from")
	}
	if rarely("last purchase") {
		in.PurchasedTo = max(in.PurchasedFrom, day("purchased to"))
	}
	if rarely("open claim") {
		open := rapid.Bool().Draw(s.T, "open")
		in.HasOpenClaim = &open
	}
	return in
}

func (s *story) checkWarranties(a *actor) {
	for _, in := range []warranty.ListWarranties{{}, s.filter(), s.filter()} {
		today := s.today()
		list := allPages(
			s,
			rapid.IntRange(1, 4).Draw(s.T, "limit"),
			func(p warranty.Paging) (warranty.Page[warranty.Warranty], error) {
				in.Paging = p
				return s.world.Service.ListWarranties(ctx, a.Principal, in)
			},
			warranty.Warranty.RecordID,
		)
		listed := map[warranty.ID]warranty.Warranty{}
		for _, w := range list {
			listed[w.ID] = w
		}
		for _, r := range s.records {
			got, err := s.world.Service.GetWarranty(ctx, a.Principal, warranty.GetWarranty{ID: s.key(r)})
			roles := r.roles(a)
			if seen := err == nil; seen != (roles != (warranty.Roles{})) ||
				err != nil && codeOf(err) != warranty.NotFound {
				s.Fatalf("%s is read: %v, %v; the reader is %v", r.ID, seen, err, roles.Names())
			}
			got.ClaimURL, got.UploadURL = "", "" // only single records have them
			w, inList := listed[r.ID]
			if want := roles != (warranty.Roles{}) && r.matches(in, roles, today, s.hasOpenClaim(r)); inList != want {
				s.Fatalf("%s is listed: %v, want %v, with %+v; it is %+v, the reader is %v", r.ID, inList, want, in,
					r.Warranty, roles.Names())
			}
			if inList && fmt.Sprintf("%+v", flat(w)) != fmt.Sprintf("%+v", flat(got)) {
				s.Fatalf("listed as %+v, read as %+v", flat(w), flat(got))
			}
			if inList && (w.Roles != roles || w.Status != r.shown(today)) {
				s.Fatalf("%s shows %v and %v, want %v and %v", r.ID, w.Roles.Names(), w.Status, roles.Names(),
					r.shown(today))
			}
			delete(listed, r.ID)
		}
		if len(listed) > 0 {
			s.Fatalf("listed and not in this story: %v", listed)
		}
	}
}

// flat is a warranty without pointers, for comparison.
func flat(w warranty.Warranty) any {
	days := -1
	if w.DaysRemaining != nil {
		days = *w.DaysRemaining
	}
	texts := []string{
		orEmpty(w.Description), orEmpty(w.SerialNumber), orEmpty(w.Category), orEmpty(w.Supplier),
		orEmpty(w.SellerName), orEmpty(w.SellerEmail), orEmpty(w.ExternalID), orEmpty(w.CustomerName), fmt.Sprint(w.PurchaseDate),
	}
	if w.ClaimCount != nil {
		texts = append(texts, fmt.Sprint(*w.ClaimCount))
	}
	w.CustomerName, w.PurchaseDate, w.ClaimCount = nil, nil, nil
	w.Description, w.SerialNumber, w.Category, w.Supplier, w.SellerName, w.SellerEmail, w.ExternalID = nil, nil, nil, nil, nil, nil, nil
	w.DaysRemaining = nil
	handover := ""
	if w.Handover != nil {
		handover = w.Handover.Status.String()
	}
	confirmed := w.Seller != nil
	w.Handover, w.Seller, w.Offer = nil, nil, warranty.Offer{}
	return []any{w, texts, days, handover, confirmed}
}

// someWarranty returns a key to filter by: none, one of the story, or an unknown one.
func (s *story) someWarranty() (key warranty.WarrantyKey) {
	switch rapid.IntRange(0, 4).Draw(s.T, "by warranty") {
	case 0:
		key.ID = s.world.Service.NewID()
	case 1, 2:
		key = s.key(s.someRecord())
	}
	return key
}

// names reports whether a key to filter by is not set or that of the record.
func names(key warranty.WarrantyKey, r *modelRecord) bool {
	return key.IsZero() || key.ID == r.ID || key.Reference == r.ReferenceNumber
}

func (s *story) checkClaims(a *actor) {
	for _, in := range []warranty.ListClaims{{}, {Q: s.text("q")}, {Customer: s.text("customer")}, {Status: warranty.EnumOf[warranty.ClaimStatus](rapid.Int64Range(0, 8).Draw(s.T, "claim status")), WarrantyID: s.someWarranty()}} {
		list := allPages(
			s,
			rapid.IntRange(1, 3).Draw(s.T, "limit"),
			func(p warranty.Paging) (warranty.Page[warranty.Claim], error) {
				in.Paging = p
				return s.world.Service.ListClaims(ctx, a.Principal, in)
			},
			warranty.Claim.RecordID,
		)
		listed := map[warranty.ID]bool{}
		for _, c := range list {
			listed[c.ID] = true
		}
		for _, c := range s.claims {
			got, err := s.world.Service.GetClaim(ctx, a.Principal, warranty.GetClaim{ID: s.claimKey(c)})
			sees := c.on.roles(a) != (warranty.Roles{})
			if (err == nil) != sees || err != nil && codeOf(err) != warranty.NotFound ||
				sees && got.Status != c.status {
				s.Fatalf("claim %s is read as %v, %v; should be: %v, %v", c.id, got.Status, err, sees, c.status)
			}
			want := sees && (in.Status == "" || in.Status == c.status) &&
				(in.Q == "" || c.on.finds(in.Q, c.on.roles(a), string(c.number), c.text(a))) &&
				(in.Customer == "" || c.on.isFor(in.Customer, c.on.roles(a))) && names(in.WarrantyID, c.on)
			if listed[c.id] != want {
				s.Fatalf("claim %s is listed: %v, want %v, with %+v", c.id, listed[c.id], want, in)
			}
			delete(listed, c.id)
		}
		if len(listed) > 0 {
			s.Fatalf("listed and not in this story: %v", listed)
		}
	}
}

func (s *story) checkDocuments(a *actor) {
	q := rapid.SampledFrom([]string{"", "receipt", "ünÏ", "%", "_", "日", "invoice"}).Draw(s.T, "q")
	for _, in := range []warranty.ListDocuments{{}, {Q: q, WarrantyID: s.someWarranty()}} {
		list := allPages(
			s,
			rapid.IntRange(1, 3).Draw(s.T, "limit"),
			func(p warranty.Paging) (warranty.Page[warranty.Document], error) {
				in.Paging = p
				return s.world.Service.ListDocuments(ctx, a.Principal, in)
			},
			warranty.Document.RecordID,
		)
		listed := map[warranty.ID]bool{}
		for _, d := range list {
			listed[d.ID] = true
		}
		for _, p := range s.papers {
			_, err := s.world.Service.GetDocument(ctx, a.Principal, warranty.GetDocument{ID: p.id})
			sees := p.seenBy(a)
			if (err == nil) != sees || err != nil && codeOf(err) != warranty.NotFound {
				s.Fatalf("document %s is read: %v; should be: %v", p.id, err, sees)
			}
			want := sees && (in.Q == "" || p.on.finds(in.Q, p.on.roles(a), p.name, "receipt")) &&
				names(in.WarrantyID, p.on)
			if listed[p.id] != want {
				s.Fatalf("document %s (%s) is listed: %v, want %v, with %+v", p.id, p.name, listed[p.id], want, in)
			}
			delete(listed, p.id)
		}
		if len(listed) > 0 {
			s.Fatalf("listed and not in this story: %v", listed)
		}
	}
}

// checkAccess checks the access table directly: its copies match the records, it has no
// dangling rows, and users who see a warranty see everything that belongs to it in the
// same roles.
func checkAccess(t testing.TB, w *world) {
	t.Helper()
	for fault, question := range map[string]string{
		"a warranty's copy has drifted": `SELECT count(*) FROM access a JOIN warranties w ON w.id = a.item_id WHERE a.kind = 1
			AND (a.parent_id <> w.id OR a.status <> w.standing OR a.start_date <> w.start_date OR a.end_date <> w.end_date OR a.category <> w.folded_category)`,
		"a claim's copy has drifted":        `SELECT count(*) FROM access a JOIN claims c ON c.id = a.item_id WHERE a.kind = 2 AND (a.parent_id <> c.warranty_id OR a.status <> c.status)`,
		"a document's parent is another":    `SELECT count(*) FROM access a JOIN documents d ON d.id = a.item_id WHERE a.kind = 3 AND a.parent_id <> d.warranty_id`,
		"access to a warranty that is gone": `SELECT count(*) FROM access a WHERE NOT EXISTS (SELECT 1 FROM warranties w WHERE w.id = a.parent_id AND w.deleted_at IS NULL)`,
		"access to a claim that is gone":    `SELECT count(*) FROM access a WHERE a.kind = 2 AND NOT EXISTS (SELECT 1 FROM claims c WHERE c.id = a.item_id)`,
		"access to a document that is gone": `SELECT count(*) FROM access a WHERE a.kind = 3 AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = a.item_id)`,
		"access of unknown users":           `SELECT count(*) FROM access a WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = a.user_id)`,
		"access without a role":             `SELECT count(*) FROM access WHERE roles < 1 OR roles > 7`,
		"access of an unknown kind":         `SELECT count(*) FROM access WHERE kind NOT IN (1, 2, 3)`,
		"access to a part and not the whole": `SELECT count(*) FROM access a WHERE a.kind > 1
			AND NOT EXISTS (SELECT 1 FROM access p WHERE p.user_id = a.user_id AND p.kind = 1 AND p.item_id = a.parent_id AND p.roles = a.roles)
			AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.id = a.item_id AND d.claim_id IS NULL AND a.roles = 1
				AND d.owner_id = a.user_id AND d.uploader_id = a.user_id
				AND NOT EXISTS (SELECT 1 FROM access p WHERE p.user_id = a.user_id AND p.kind = 1 AND p.item_id = a.parent_id))`,
		"a claim hidden from a user who sees its warranty": `SELECT count(*) FROM claims c JOIN access p ON p.kind = 1 AND p.item_id = c.warranty_id
			WHERE NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = p.user_id AND a.kind = 2 AND a.item_id = c.id)`,
		"a document shown to the wrong user": `SELECT count(*) FROM documents d JOIN access a ON a.kind = 3 AND a.item_id = d.id
			WHERE a.roles % 2 = 0 AND d.business = 0 AND d.claim_id IS NULL AND d.uploader_id <> a.user_id`,
		"a document hidden from a user who may see it": `SELECT count(*) FROM documents d JOIN access p ON p.kind = 1 AND p.item_id = d.warranty_id
			WHERE (CASE WHEN p.roles % 2 = 1 THEN d.owner_id IS NULL OR d.owner_id = p.user_id ELSE d.business = 1 OR d.claim_id IS NOT NULL END OR d.uploader_id = p.user_id) AND NOT EXISTS (SELECT 1 FROM access a WHERE a.user_id = p.user_id AND a.kind = 3 AND a.item_id = d.id)`,
		"a warranty with several owners": `SELECT count(*) FROM warranties w WHERE w.deleted_at IS NULL
			AND (SELECT count(*) FROM access a WHERE a.kind = 1 AND a.item_id = w.id AND a.roles % 2 = 1) > 1`,
		"a warranty whose issuer is not its issuer": `SELECT count(*) FROM warranties w WHERE w.deleted_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM access a WHERE a.kind = 1 AND a.item_id = w.id AND a.user_id = w.issuer_id AND a.roles >= 4)`,
		"a seller beside the one who confirmed": `SELECT count(*) FROM access a JOIN warranties w ON w.id = a.item_id WHERE a.kind = 1 AND a.roles & 2 <> 0
			AND w.seller_id <> a.user_id`,
		"a confirmed seller who is not linked": `SELECT count(*) FROM warranties w WHERE w.deleted_at IS NULL AND w.seller_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM access a WHERE a.kind = 1 AND a.item_id = w.id AND a.user_id = w.seller_id AND a.roles & 2 <> 0)`,
		"a seller who was never verified": `SELECT count(*) FROM access a JOIN users u ON u.id = a.user_id WHERE a.roles & 2 <> 0 AND u.verified_at IS NULL`,
	} {
		if n := w.number(question); n != 0 {
			t.Errorf("%s: %d", fault, n)
		}
	}
}

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestEnginesAgree runs random scripts on both databases and compares the results of every step.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	engines := [2]*Store{open(t, newFile(t)), open(t, newPostgres(t))}
	testenv.Property(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		steps := rapid.IntRange(10, 40).Draw(t, "steps")
		first := ids.Add(1_000_000) // same ids on both engines, different ids per script
		var answers [2][]string
		for i, s := range engines {
			script := &script{Store: s, random: rand.New(rand.NewPCG(seed, 1)), base: first, last: first}
			for range 3 {
				answers[i] = append(answers[i], script.told(script.addUser()), script.told(script.addWarranty()))
			}
			for range steps {
				answers[i] = append(answers[i], script.step())
			}
		}
		if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
			t.Fatalf("SQLite (-) and PostgreSQL (+) differ:\n%s", diff)
		}
	})
}

// script is a random sequence of steps that depends only on its seed.
type script struct {
	*Store
	random *rand.Rand
	base   uint64 // start of the ids, unique to this script
	last   uint64
	made   func() time.Time // timestamp of new ids; nil for long ago
	others []*Store         // stores to compare with
	sure   bool             // only pick existing records

	users      []warranty.User
	warranties []warranty.ID
	claims     []warranty.ID
	documents  []warranty.ID
	tokens     []warranty.ID
	references []warranty.Reference
}

var words = []string{
	"Kettle", "kettle", "KETTLE 100%", "Ünïcødé", "ünïcødé", "日本語", "under_score", `back\slash`,
	"a", "", " ", "İstanbul", "straße", "e\u0301", "🧰", "'; DROP TABLE users; --",
}

func (s *script) word() string { return words[s.random.IntN(len(words))] }

func (s *script) optional() *string {
	if s.random.IntN(3) == 0 {
		return nil
	}
	w := s.word()
	return &w
}

func (s *script) id() (id warranty.ID) {
	s.last++
	for i := range 8 {
		id[15-i] = byte(s.last >> (8 * i))
	}
	if s.made != nil {
		ms := s.made().UnixMilli()
		for i := range 6 {
			id[5-i] = byte(ms >> (8 * i))
		}
	}
	return id
}

// oneOf picks an existing element, or sometimes one that does not exist.
func oneOf[T any](s *script, list []T, other T) T {
	if len(list) == 0 || !s.sure && s.random.IntN(8) == 0 {
		return other
	}
	return list[s.random.IntN(len(list))]
}

func (s *script) user() warranty.ID {
	return oneOf(s, s.users, warranty.User{ID: warranty.ID{1}}).ID
}
func (s *script) today() warranty.Date { return warranty.Date(20_000) }
func (s *script) now() time.Time       { return time.UnixMicro(1_800_000_000_000_000 + int64(s.last)).UTC() }
func (s *script) hash(n int) warranty.Hash {
	return sha256.Sum256(fmt.Append(nil, s.base, n))
}
func (s *script) paging() warranty.Paging {
	return warranty.Paging{Page: 1 + s.random.IntN(3), Limit: 1 + s.random.IntN(5)}
}

// step runs a random step and describes the result.
func (s *script) step() string {
	steps := []func() (any, error){
		s.addUser, s.addWarranty, s.addWarranty, s.change, s.remove, s.get, s.list, s.list, s.summarize,
		s.fileClaim, s.moveClaim, s.listClaims, s.upload, s.listDocuments, s.addToken, s.listTokens,
		s.keep, s.verify, s.transfer, s.people, s.useCode, s.milestone,
	}
	n := s.random.IntN(len(steps))
	return fmt.Sprintf("step %d: %s", n, s.told(steps[n]()))
}

// told describes the result of a step without engine-specific details.
func (s *script) told(answer any, err error) string {
	var refusal *warranty.Error
	switch {
	case err == nil:
	case errors.As(err, &refusal):
		return string(refusal.Code)
	default:
		return fmt.Sprintf("failed, duplicate: %v", s.IsDuplicate(err))
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *script) write(fn func(*Tx) error) error { return s.Write(context.Background(), fn) }

// address returns one of a few addresses, so that some are taken and some belong to sellers.
func (s *script) address() string {
	return fmt.Sprintf("u%d.%d@people.example", s.base, s.random.IntN(6))
}

func (s *script) addUser() (any, error) {
	u := warranty.User{
		ID:            s.id(),
		Name:          s.word(),
		Email:         s.address(),
		EmailVerified: s.random.IntN(2) == 0,
		CreatedAt:     s.now(),
	}
	err := s.write(func(tx *Tx) error {
		return tx.InsertUser(u, "hash "+s.word())
	})
	if err != nil {
		return nil, err
	}
	s.users = append(s.users, u)
	a, err := s.AccountByEmail(context.Background(), u.Email)
	return a, err
}

func (s *script) addWarranty() (any, error) {
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, strings.NewReader(fmt.Sprintf("%015d", s.last)))
	if err != nil {
		return nil, err
	}
	start := s.today() + warranty.Date(s.random.IntN(60)-30)
	w := warranty.Warranty{
		ID:              s.id(),
		ReferenceNumber: reference,
		ProductName:     s.word(),
		Description:     s.optional(),
		SerialNumber:    s.optional(),
		Category:        s.optional(),
		Supplier:        s.optional(),
		Brand:           s.optional(),
		SellerName:      s.optional(),
		StartDate:       start,
		EndDate:         start + warranty.Date(s.random.IntN(40)),
		Standing:        warranty.Active,
		Version:         1,
		CreatedAt:       s.now(),
		UpdatedAt:       s.now(),
	}
	if s.random.IntN(2) == 0 {
		address := s.address()
		w.SellerEmail = &address
	}
	if s.random.IntN(2) == 0 {
		address, bought := s.address(), start-warranty.Date(s.random.IntN(3))
		w.CustomerName, w.Offer.Email, w.PurchaseDate = s.optional(), &address, &bought
	}
	err = s.write(func(tx *Tx) error {
		if err := tx.InsertWarranty(w, s.user()); err != nil || w.SellerEmail == nil {
			return err
		}
		seller, found, err := tx.VerifiedAccount(*w.SellerEmail)
		if err != nil || !found {
			return err
		}
		_, err = tx.AddSeller(seller, w.ID, s.now())
		return err
	})
	if err == nil {
		s.warranties, s.references = append(s.warranties, w.ID), append(s.references, reference)
	}
	return w.ID, err
}

func (s *script) warranty() warranty.ID { return oneOf(s, s.warranties, warranty.ID{2}) }

func (s *script) change() (any, error) {
	name, category, status := s.word(), s.word(), warranty.EnumOf[warranty.Status](1+s.random.Int64N(3))
	user, id := s.user(), s.warranty()
	var changed warranty.Warranty
	err := s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
		if err != nil {
			return err
		}
		changed = w
		changed.ProductName, changed.Category = name, warranty.Optional(category)
		changed.Standing, changed.Version = status, w.Version+1
		return tx.UpdateWarranty(w, changed)
	})
	return []any{changed, changed.Version, changed.Standing}, err
}

func (s *script) remove() (any, error) {
	user, id := s.user(), s.warranty()
	if s.random.IntN(3) > 0 {
		return "skipped", nil
	}
	return nil, s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: id})
		if err != nil {
			return err
		}
		return tx.DeleteWarranty(w, s.now())
	})
}

func (s *script) get() (any, error) {
	w, err := s.Warranty(context.Background(), s.user(), warranty.WarrantyKey{ID: s.warranty()})
	return []any{w, w.Standing, w.Version}, err
}

// question returns a random query for warranties.
func (s *script) question() warranty.ListWarranties {
	in := warranty.ListWarranties{Paging: s.paging(), WarrantyFilter: s.filter()}
	if s.random.IntN(2) == 0 {
		in.Sort = oneOf(s, []warranty.WarrantySort{
			warranty.ByCreatedAtDesc, warranty.ByEndDate, warranty.ByEndDateDesc, warranty.ByProductName,
			warranty.ByUpdatedAt, warranty.ByUpdatedAtDesc,
		}, "")
	}
	return in
}

// filter returns a random filter. Each of its fields is set rarely, so that something is found.
func (s *script) filter() warranty.WarrantyFilter {
	var f warranty.WarrantyFilter
	rarely := func(set func()) {
		if s.random.IntN(5) == 0 {
			set()
		}
	}
	rarely(func() { f.Status = warranty.EnumOf[warranty.Status](s.random.Int64N(6)) })
	rarely(func() { f.Role = warranty.EnumOf[warranty.Role](s.random.Int64N(4)) })
	rarely(func() { f.Category = s.word() })
	rarely(func() { f.Supplier = s.word() })
	rarely(func() { f.Seller = s.word() })
	rarely(func() { f.Q = s.word() })
	rarely(func() { days := s.random.IntN(50); f.ExpiringWithinDays = &days })
	rarely(func() { f.EndsFrom = s.today() + warranty.Date(s.random.IntN(50)) })
	rarely(func() { f.EndsTo = s.today() + warranty.Date(s.random.IntN(50)) })
	rarely(func() { f.CoveredOn = s.today() + warranty.Date(s.random.IntN(50)) })
	rarely(func() { f.Customer = s.customer() })
	rarely(func() { f.PurchasedFrom = s.today() + warranty.Date(s.random.IntN(60)-30) })
	rarely(func() { f.PurchasedTo = s.today() + warranty.Date(s.random.IntN(60)-30) })
	rarely(func() { open := s.random.IntN(2) == 0; f.HasOpenClaim = &open })
	rarely(func() {
		f.Assurance = oneOf(s, []warranty.Assurance{warranty.IssuerVerified, warranty.SellerConfirmed, warranty.Unverified}, "")
	})
	return f
}

// customer returns a customer to filter by.
func (s *script) customer() string {
	if s.random.IntN(2) == 0 {
		return s.word()
	}
	address := s.address()
	return address[:1+s.random.IntN(len(address))]
}

func (s *script) summarize() (any, error) {
	in := warranty.SummarizeWarranties{
		WarrantyFilter: s.filter(),
		GroupBy: oneOf(s, []warranty.SummaryGroup{
			warranty.GroupByStatus, warranty.GroupByCategory, warranty.GroupBySupplier, warranty.GroupByBrand, warranty.GroupByEndMonth,
		}, ""),
		Limit: 1 + s.random.IntN(5),
	}
	return s.Summary(context.Background(), s.user(), in, s.today())
}

func (s *script) list() (any, error) {
	in := s.question()
	list, total, err := s.Warranties(context.Background(), s.user(), in, s.today())
	return []any{list, total}, err
}

func (s *script) fileClaim() (any, error) {
	number, err := warranty.NewReference(warranty.ClaimPrefix, strings.NewReader(fmt.Sprintf("%015d", s.last)))
	if err != nil {
		return nil, err
	}
	c := warranty.Claim{
		ID:           s.id(),
		ClaimNumber:  number,
		WarrantyID:   s.warranty(),
		Type:         warranty.Repair,
		Description:  s.word(),
		IncidentDate: s.today(),
		Status:       warranty.Submitted,
		CreatedAt:    s.now(),
		UpdatedAt:    s.now(),
	}
	user := s.user()
	err = s.write(func(tx *Tx) error {
		if _, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: c.WarrantyID}); err != nil {
			return err
		}
		return tx.InsertClaim(c, warranty.ID{})
	})
	if err == nil {
		s.claims = append(s.claims, c.ID)
	}
	return c, err
}

func (s *script) moveClaim() (any, error) {
	user, id := s.user(), oneOf(s, s.claims, warranty.ID{3})
	to := warranty.EnumOf[warranty.ClaimStatus](1 + s.random.Int64N(8))
	var answer []any
	err := s.write(func(tx *Tx) error {
		c, roles, err := tx.LockClaim(user, warranty.ClaimKey{ID: id})
		if err != nil {
			return err
		}
		from, resolution, at := c.Status, warranty.Replaced, s.now()
		c.Status, c.StatusReason, c.Resolution, c.ResolvedAt = to, s.optional(), &resolution, &at
		answer = []any{c, roles}
		return tx.UpdateClaim(c, from)
	})
	return answer, err
}

func (s *script) listClaims() (any, error) {
	in := warranty.ListClaims{Paging: s.paging(), Status: warranty.EnumOf[warranty.ClaimStatus](s.random.Int64N(9))}
	if s.random.IntN(2) == 0 {
		in.WarrantyID = warranty.WarrantyKey{ID: s.warranty()}
	}
	if s.random.IntN(2) == 0 {
		in.Q = s.word()
	}
	list, total, err := s.Claims(context.Background(), s.user(), s.user(), in)
	if err != nil {
		return nil, err
	}
	c, err := s.Claim(context.Background(), s.user(), warranty.ClaimKey{ID: oneOf(s, s.claims, warranty.ID{3})})
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil
	}
	return []any{list, total, c}, err
}

func (s *script) upload() (any, error) {
	sum := s.hash(s.random.IntN(100))
	d := warranty.Document{
		ID:          s.id(),
		WarrantyID:  s.warranty(),
		FileName:    s.word(),
		Type:        warranty.EnumOf[warranty.DocumentType](1 + s.random.Int64N(8)),
		ContentType: "text/plain",
		SizeBytes:   s.random.Int64N(1 << 40),
		SHA256:      hex.EncodeToString(sum[:]),
		CreatedAt:   s.now(),
	}
	user := s.user()
	err := s.write(func(tx *Tx) error {
		w, err := tx.LockWarranty(user, warranty.WarrantyKey{ID: d.WarrantyID})
		if err != nil {
			return err
		}
		return tx.InsertDocument(d, user, w.Roles, d.ID.String())
	})
	if err == nil {
		s.documents = append(s.documents, d.ID)
	}
	return d, err
}

func (s *script) listDocuments() (any, error) {
	in := warranty.ListDocuments{Paging: s.paging()}
	if s.random.IntN(2) == 0 {
		in.WarrantyID = warranty.WarrantyKey{ID: s.warranty()}
	}
	if s.random.IntN(2) == 0 {
		in.Q = s.word()
	}
	list, total, err := s.Documents(context.Background(), s.user(), in)
	if err != nil || s.random.IntN(3) > 0 {
		return []any{list, total}, err
	}
	user, id := s.user(), oneOf(s, s.documents, warranty.ID{4})
	err = s.write(func(tx *Tx) error {
		f, err := tx.LockFile(user, id)
		if err != nil {
			return err
		}
		return tx.DeleteDocument(f.Document, s.now())
	})
	return []any{list, total}, err
}

func (s *script) addToken() (any, error) {
	token := warranty.Token{
		ID:                 s.id(),
		Name:               s.word(),
		Prefix:             "svc_x",
		Scopes:             warranty.ScopesOf(int64(s.random.IntN(16))),
		RateLimitPerMinute: 7,
		ExpiresAt:          s.now().Add(time.Hour),
		CreatedAt:          s.now(),
	}
	user, secret := s.user(), s.hash(s.random.IntN(10))
	var answer []any
	err := s.write(func(tx *Tx) error {
		count, named, err := tx.ActiveTokens(user, token.Name, s.now())
		if err != nil {
			return err
		}
		answer = []any{count, named}
		if err := tx.InsertToken(user, user, token, secret); err != nil {
			return err
		}
		uses := []TokenUse{
			{Token: token.ID, Day: s.today(), Requests: 2, Last: s.now()},
			{Token: token.ID, Day: s.today(), Requests: 3, Last: s.now().Add(-time.Second)},
		}
		return tx.AddUsage(UsageBatch{Writer: newID(), Number: 1, Uses: uses}, s.now())
	})
	if err == nil {
		s.tokens = append(s.tokens, token.ID)
	}
	return answer, err
}

func (s *script) listTokens() (any, error) {
	list, total, err := s.Tokens(context.Background(), s.user(), s.paging(), s.today()-30)
	if err != nil {
		return nil, err
	}
	c, err := s.TokenBySecret(context.Background(), s.hash(s.random.IntN(10)))
	if errors.Is(err, warranty.ErrNotFound) {
		err = nil
	}
	user, id := s.user(), oneOf(s, s.tokens, warranty.ID{5})
	revoked := s.write(func(tx *Tx) error {
		if _, err := tx.LockToken(user, id); err != nil {
			return err
		}
		return tx.RevokeToken(id, s.now())
	})
	return []any{list, total, c, revoked == nil}, err
}

func (s *script) keep() (any, error) {
	k := SavedResponse{
		User:        s.user(),
		Operation:   "x",
		Key:         fmt.Sprint(s.base, s.random.IntN(3)),
		Fingerprint: s.hash(s.random.IntN(2)),
		Response:    s.word(),
		At:          s.now().Add(time.Duration(s.random.IntN(48)) * time.Hour),
	}
	var earlier *SavedResponse
	err := s.write(func(tx *Tx) (err error) { earlier, err = tx.SaveResponse(k); return err })
	return earlier, err
}

func (s *script) verify() (any, error) {
	w, issuer, err := s.WarrantyByReference(context.Background(), oneOf(s, s.references, "WR-0000-0000-0000-0000"), s.now())
	return []any{w, issuer}, err
}

func (s *script) transfer() (any, error) {
	id, user, code := s.warranty(), s.user(), s.hash(s.random.IntN(4))
	var got warranty.ID
	err := s.write(func(tx *Tx) error {
		if s.random.IntN(2) == 0 {
			return tx.InsertOfferCode(OfferCode{
				Hash: code, Warranty: id, Giver: user, By: user, Transfer: s.random.IntN(2) == 0, Expires: s.now().Add(time.Hour),
			})
		}
		taking, err := tx.UseOfferCode(code, s.now())
		if err != nil {
			return err
		}
		got = taking.Warranty.ID
		return tx.Take(taking, user, s.now())
	})
	return got, err
}

func (s *script) people() (any, error) {
	var people []Recipient
	err := s.write(func(tx *Tx) (err error) { people, err = tx.People(s.warranty()); return err })
	seen := map[string]Recipient{}
	for _, p := range people {
		seen[p.User.String()] = p
	}
	return seen, err
}

func (s *script) useCode() (any, error) {
	user, code := s.user(), s.hash(s.random.IntN(4))
	var whose warranty.ID
	err := s.write(func(tx *Tx) error {
		if s.random.IntN(2) == 0 {
			return tx.InsertCode(code, ForReset, user, s.now().Add(time.Minute))
		}
		var err error
		whose, err = tx.UseCode(code, Purpose(1+s.random.IntN(2)), s.now())
		return err
	})
	return whose, err
}

func (s *script) milestone() (any, error) {
	first := false
	err := s.write(func(tx *Tx) (err error) {
		first, err = tx.ReachMilestone(fmt.Sprint("m", s.base, s.random.IntN(3)), s.now())
		return err
	})
	return first, err
}

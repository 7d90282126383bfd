package main

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// worker is a client that sends one request after the other. No other worker uses its
// records, so their model is what the last responses said.
type worker struct {
	*workload
	n       int
	rng     *rand.Rand
	records []*record
	tokens  []*token
	made    int
}

func (l *workload) newWorker(n int) *worker {
	return &worker{workload: l, n: n, rng: rand.New(rand.NewPCG(l.seed, uint64(n)))}
}

// run sends requests until stop is closed.
func (w *worker) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-w.ctx.Done():
			return
		default:
		}
		if w.perform(w.choose()) != acknowledged {
			select {
			case <-stop:
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// choose returns the next step.
func (w *worker) choose() step {
	s := step{Account: w.rng.IntN(len(w.model.accounts)), N: w.rng.IntN(1_000_000)}
	free := filter(w.records, func(r *record) bool { return r.exists() && r.pending == nil })
	pick := w.rng.IntN(100)
	if len(free) == 0 || pick < 30 {
		// Some creates without a response are sent again with the same key.
		for _, r := range w.records {
			if r.id == "" && r.pending != nil && w.rng.IntN(2) == 0 {
				return *r.pending
			}
		}
		w.made++
		// The suffix keeps keys from being prefixes of each other.
		s.Kind, s.Subject = "create", fmt.Sprintf("w%d-%d-%dz", w.n, w.made, w.counter.Add(1))
		return s
	}
	r := w.oneOf(free)
	s.Subject, s.Account = r.key, r.owner
	docs := filter(r.docs, func(d *document) bool { return d.id != "" && !d.deleted && d.pending == nil })
	claims := filter(r.claims, func(c *claim) bool { return c.id != "" && c.pending == nil && nextStatus(c.status) != "" })
	switch {
	case pick < 45:
		s.Kind = "update"
	case pick < 50:
		s.Kind = "delete"
	case pick < 62:
		s.Kind, s.Item = "upload", fmt.Sprint("d", w.counter.Add(1))
	case pick < 66 && len(docs) > 0:
		s.Kind, s.Item = "remove", docs[w.rng.IntN(len(docs))].key
	case pick < 72 && r.content.Standing == "active":
		s.Kind, s.Item = "claim", fmt.Sprint("c", w.counter.Add(1))
	case pick < 78 && len(claims) > 0 && r.seller >= 0 && r.seller != r.owner:
		s.Kind, s.Item, s.Account = "move", claims[w.rng.IntN(len(claims))].key, r.seller
	case pick < 82 && r.content.Standing == "active":
		s.Kind = "transfer"
	case pick < 84:
		s.Kind, s.Subject = "token", fmt.Sprintf("t%d-%dz", w.n, w.counter.Add(1))
		s.Account = w.rng.IntN(len(w.model.accounts))
	case pick < 88 && len(w.tokens) > 0:
		k := w.tokens[w.rng.IntN(len(w.tokens))]
		s.Subject, s.Account = k.key, k.owner
		s.Kind = []string{"use", "use", "revoke"}[w.rng.IntN(3)]
		if k.revoked || k.pending != nil {
			s.Kind = "use"
		}
	case pick < 92:
		s.Kind = "again"
	default:
		s.Kind = "read"
	}
	return s
}

func (w *worker) oneOf(records []*record) *record { return records[w.rng.IntN(len(records))] }

// filter returns the elements of list that keep accepts.
func filter[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return !keep(v) })
}

// actions maps the kind of a step to the function that performs it. A zero answer means
// that the step was not possible.
var actions = map[string]func(*worker, *step) answer{
	"create":   (*worker).create,
	"update":   (*worker).update,
	"delete":   (*worker).remove,
	"upload":   (*worker).upload,
	"remove":   (*worker).removeDocument,
	"claim":    (*worker).fileClaim,
	"move":     (*worker).moveClaim,
	"transfer": (*worker).transfer,
	"token":    (*worker).createToken,
	"use":      (*worker).useToken,
	"revoke":   (*worker).revoke,
	"again":    (*worker).createAgain,
	"read":     (*worker).read,
}

// perform carries out a step and updates the model.
func (w *worker) perform(s step) outcome {
	s.At = w.model.since()
	a := actions[s.Kind](w, &s)
	if a.status == 0 && a.err == nil {
		return refused
	}
	s.Outcome, s.Answer = a.outcome().String(), a.String()
	w.model.mu.Lock()
	if r := w.model.records[s.Subject]; r != nil {
		r.steps = append(r.steps, s)
	} else if k := w.model.tokens[s.Subject]; k != nil {
		k.steps = append(k.steps, s)
	}
	w.model.mu.Unlock()
	if w.strict.Load() && a.outcome() != acknowledged {
		w.find("failed", s.Subject, "%s failed: %s", s.Kind, a)
	}
	return a.outcome()
}

// nextStatus returns the status that a seller moves a claim to, or "".
func nextStatus(status string) string {
	return map[string]string{"submitted": "under_review", "under_review": "approved", "approved": "in_progress"}[status]
}

func day(offset int) string { return time.Now().UTC().AddDate(0, 0, offset).Format(time.DateOnly) }

// contentOf returns the content of a record after a step.
func contentOf(s step, before content) content {
	c := before
	switch s.Kind {
	case "create":
		c = content{
			Product:  s.Subject,
			Category: fmt.Sprint("Category ", s.N%4),
			Start:    day(-30),
			End:      day(100 + s.N%900),
			Standing: "active",
		}
		switch s.N % 7 {
		case 0: // ends soon: a reminder is due
			c.End = day(25)
		case 1:
			c.Start, c.End = day(10), day(400)
		case 2:
			c.Start, c.End = day(-400), day(-3)
		}
	case "update":
		switch s.N % 4 {
		case 0:
			c.Category = fmt.Sprint("Category ", s.N/4%4)
		case 1:
			c.End = day(200 + s.N/4%900)
		case 2:
			c.Product = keyOf(c.Product) + fmt.Sprint(" changed ", s.N)
		case 3:
			switch c.Standing {
			case "active":
				c.Standing = []string{"void", "void", "cancelled"}[s.N/4%3]
			case "void":
				c.Standing = "active"
			}
		}
	}
	return c
}

// keyOf returns the key of a record, which is the first word of the product name.
func keyOf(product string) string { return strings.SplitN(product, " ", 2)[0] }

// detailsOf returns the fields of a record that never change.
func detailsOf(c content) map[string]string {
	key := keyOf(c.Product)
	return map[string]string{
		"description":   "All about " + key,
		"serial_number": "SN " + key,
		"supplier":      "Supplier of " + key,
		"seller_name":   "Seller of " + key,
	}
}

// changes returns the fields that differ, as a request body.
func (c content) changes(before content) map[string]string {
	fields := map[string]string{}
	for name, values := range map[string][2]string{
		"product_name": {c.Product, before.Product},
		"category":     {c.Category, before.Category},
		"start_date":   {c.Start, before.Start},
		"end_date":     {c.End, before.End},
		"status":       {c.Standing, before.Standing},
	} {
		if values[0] != values[1] {
			fields[name] = values[0]
		}
	}
	return fields
}

// fileOf returns the file that an upload step sends.
func fileOf(s step) []byte {
	size := 200 + s.N%40_000
	text := make([]byte, 0, size+64)
	text = append(text, "%PDF-1.4\n% "+s.Subject+" "+s.Item+"\n"...)
	source := rand.NewPCG(uint64(s.N), uint64(size))
	for len(text) < size {
		text = append(text, hex.EncodeToString([]byte{byte(source.Uint64())})...)
	}
	return append(text, "\n%%EOF\n"...)
}

// wireWarranty is a warranty in a response.
type wireWarranty struct {
	ID        string `json:"id"`
	Reference string `json:"reference_number"`
	Product   string `json:"product_name"`
	Category  string `json:"category"`
	Start     string `json:"start_date"`
	End       string `json:"end_date"`
	Status    string `json:"status"`
	Seller    string `json:"seller_email"`

	Description  string   `json:"description"`
	SerialNumber string   `json:"serial_number"`
	Supplier     string   `json:"supplier"`
	SellerName   string   `json:"seller_name"`
	Roles        []string `json:"roles"`
}

// statusOf returns the status that the service derives from dates and standing.
func statusOf(c content) string {
	switch today := day(0); {
	case c.Standing != "active":
		return c.Standing
	case today < c.Start:
		return "upcoming"
	case today > c.End:
		return "expired"
	}
	return "active"
}

func (w wireWarranty) equals(c content) bool {
	details := map[string]string{
		"description":   w.Description,
		"serial_number": w.SerialNumber,
		"supplier":      w.Supplier,
		"seller_name":   w.SellerName,
	}
	return maps.Equal(details, detailsOf(c)) && w.Product == c.Product && w.Category == c.Category &&
		w.Start == c.Start && w.End == c.End && w.Status == statusOf(c)
}

package demo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"warranty.example/svc/internal/service"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// story performs the operations of the demo's users, each at its own time in the past.
type story struct {
	s        *service.Service
	now      time.Time
	sessions []warranty.Principal // in the order of people
	who      []warranty.Principal
	made     map[string]warranty.Warranty
}

// Indexes into who: the owner, and three organizations. Only the issuer has a verified domain.
const (
	owner = iota
	seller
	issuer
	outlet
)

func (t *story) signIn(ctx context.Context, p Person) error {
	who, err := signIn(ctx, t.s, warranty.SignIn{Email: p.Email, Password: p.Password})
	t.sessions = append(t.sessions, who)
	return err
}

// founded is how many days ago the organizations were created, which is before their first record.
const founded = 1600

// organizations creates the seller, the issuer and the outlet.
func (t *story) organizations(ctx context.Context) error {
	t.who = append(t.who, t.sessions[owner])
	for _, o := range []struct {
		admin               int
		name, domain, email string
	}{
		{seller, sellerName, "", sellerEmail},
		{issuer, issuerName, "brandt.example", ""},
		{seller, "Halden Outlet", "", ""},
	} {
		then := t.daysAgo(founded)
		made, err := then.CreateOrganization(ctx, t.sessions[o.admin], warranty.CreateOrganization{Name: o.name})
		if err != nil {
			return err
		}
		if o.domain != "" {
			if _, err := then.VerifyDomain(ctx, made.ID, o.domain); err != nil {
				return err
			}
		}
		if o.email != "" {
			if err := t.address(ctx, made.ID, o.email); err != nil {
				return err
			}
		}
		acting, err := t.s.ActFor(ctx, t.sessions[o.admin], made.ID)
		if err != nil {
			return err
		}
		t.who = append(t.who, acting)
	}
	return nil
}

// address gives an address to an organization, without the emailed code.
func (t *story) address(ctx context.Context, organization warranty.ID, email string) error {
	return t.s.Store.Write(ctx, func(tx *store.Tx) error {
		verified := warranty.Address{ID: t.s.NewID(), Email: email, VerifiedAt: t.daysAgo(founded).Now()}
		return tx.InsertAddress(organization, verified)
	})
}

func (t *story) signOut(ctx context.Context) {
	for _, who := range t.sessions {
		if _, err := t.s.SignOut(ctx, who, warranty.SignOut{}); err != nil {
			t.s.Log.Warn("cannot end a demo session", "error", err.Error())
		}
	}
}

func (t *story) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{t.organizations, t.records, t.documents, t.claims, t.programs} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("create the demo: %w", err)
		}
	}
	return nil
}

// daysAgo returns the service with its clock set back.
func (t *story) daysAgo(days int) *service.Service {
	return at(t.s, t.now.AddDate(0, 0, -days).Add(-3*time.Hour))
}

func (t *story) records(ctx context.Context) error {
	for i, r := range records {
		when := r.made(t.now, i)
		w, err := at(t.s, when).CreateWarranty(ctx, t.who[r.by], r.create(warranty.DateOf(t.now)))
		if err != nil {
			return fmt.Errorf("%s: %w", r.product, err)
		}
		t.made[r.product] = w
		if r.soldBy {
			in := warranty.DecideConfirmation{ID: warranty.WarrantyKey{ID: w.ID}, Decision: warranty.Confirm, IfMatch: w.ETag()}
			if _, err := at(t.s, when.Add(time.Hour)).DecideConfirmation(ctx, t.who[seller], in); err != nil {
				return fmt.Errorf("%s: %w", r.product, err)
			}
		}
		if r.handedOver {
			if err := t.handOver(ctx, at(t.s, when.Add(2*time.Hour)), r.by, w); err != nil {
				return fmt.Errorf("%s: %w", r.product, err)
			}
		}
		if r.standing == warranty.Active {
			continue
		}
		change := warranty.UpdateWarranty{ID: warranty.WarrantyKey{ID: w.ID}, Status: &r.standing}
		if _, err := at(t.s, when.Add(36*time.Hour)).UpdateWarranty(ctx, t.who[r.by], change); err != nil {
			return fmt.Errorf("%s: %w", r.product, err)
		}
	}
	return nil
}

// handOver hands a warranty over to the owner, with a printed code.
func (t *story) handOver(ctx context.Context, then *service.Service, by int, w warranty.Warranty) error {
	in := warranty.OfferHandover{ID: warranty.WarrantyKey{ID: w.ID}, CustomerName: people[owner].Name}
	offer, err := then.OfferHandover(ctx, t.who[by], in)
	if err != nil {
		return err
	}
	_, err = then.Take(ctx, t.who[owner], warranty.TakeHandover{Code: *offer.Code})
	return err
}

func (t *story) documents(ctx context.Context) error {
	for i, d := range []struct {
		by      int
		product string
		kind    warranty.DocumentType
		name    string
		ago     int
	}{
		{owner, "Bosch Serie 6 washing machine WGG244A20", warranty.Receipt, "receipt-bosch.pdf", 1008},
		{owner, "Lenovo ThinkPad X1 Carbon Gen 11", warranty.Invoice, "invoice-2025-1182.pdf", 418},
		{owner, "LG OLED55C4 television", warranty.Receipt, "receipt-lg.pdf", 299},
		{owner, "IKEA Metod kitchen", warranty.Invoice, "ikea-invoice.pdf", 1390},
		{seller, "Bosch Serie 6 washing machine WGG244A20", warranty.Terms, "extended-cover-terms.txt", 1007},
		{issuer, "Brandt refrigerator BFC8610NX", warranty.Certificate, "certificate-BFC8610NX.pdf", 328},
		{issuer, "Brandt dishwasher DWJ148DS", warranty.Manual, "manual-DWJ148DS.txt", 279},
		{owner, "Brandt refrigerator BFC8610NX", warranty.Photo, "serial-plate.png", 120},
	} {
		w := t.made[d.product]
		in := warranty.UploadDocument{WarrantyID: warranty.WarrantyKey{ID: w.ID}, Type: d.kind, FileName: d.name}
		if err := t.upload(ctx, t.daysAgo(d.ago), d.by, in, i, w); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

func (t *story) upload(
	ctx context.Context, s *service.Service, by int, in warranty.UploadDocument, seed int, w warranty.Warranty,
) error {
	content, err := sample(in.FileName, seed, w)
	if err != nil {
		return err
	}
	stored, err := s.StoreFile(ctx, bytes.NewReader(content))
	if err != nil {
		return err
	}
	_, err = s.UploadDocument(ctx, t.who[by], stored, in)
	return err
}

// claimStory is a claim and its status changes.
type claimStory struct {
	product     string
	kind        warranty.ClaimType
	description string
	ago         int // days since it was filed
	decider     int // index into who; the seller if it is 0
	moves       []warranty.MoveClaim
	messages    []string // of the owner, after the moves
	photo       string   // file name of the evidence
}

// claimStories end in every status. Some wait for each of the people.
var claimStories = []claimStory{
	{
		product:     "LG OLED55C4 television",
		kind:        warranty.Repair,
		description: "A vertical line of dead pixels at the left edge.",
		ago:         2,
		photo:       "dead-pixels.jpg",
	},
	{
		product:     "Canon EOS R8 camera body",
		kind:        warranty.Inspection,
		description: "The shutter sometimes stays open after a burst.",
		ago:         9,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview, Reason: "Sent to the workshop for a look."},
			{Status: warranty.InfoRequested, Reason: "Which lens was on it when it happened?"},
		},
		messages: []string{"The 24-105, every time.", "It happens with the 50 too, as of today."},
	},
	{
		product:     "Brandt refrigerator BFC8610NX",
		kind:        warranty.Repair,
		description: "It hums loudly since last week and the freezer compartment is not cold.",
		ago:         12,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.InfoRequested, Reason: "Please send a photo of the serial plate."},
		},
	},
	{
		product:     "Brandt wine cooler WB1V45",
		kind:        warranty.Repair,
		description: "It no longer cools below 14 degrees.",
		ago:         4,
		decider:     issuer,
		photo:       "thermometer.jpg",
	},
	{
		product:     "Brandt induction hob TI364B",
		kind:        warranty.Repair,
		description: "The left zone turns off after a minute.",
		ago:         6,
		decider:     issuer,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.InfoRequested, Reason: "Which code does the display show then?"},
		},
		messages: []string{"It shows F8, and the others go on."},
	},
	{
		product:     "Lenovo ThinkPad X1 Carbon Gen 11",
		kind:        warranty.Repair,
		description: "The left hinge is broken.",
		ago:         20,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.Approved, Reason: "A technician comes on the next working day."},
		},
		photo: "hinge.jpg",
	},
	{
		product:     "Bosch Serie 6 washing machine WGG244A20",
		kind:        warranty.Repair,
		description: "The drum no longer turns.",
		ago:         26,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.Approved},
			{Status: warranty.InProgress, Reason: "The motor is on order."},
		},
	},
	{
		product:     "Miele Complete C3 vacuum cleaner",
		kind:        warranty.Replacement,
		description: "It lost suction within a month.",
		ago:         210,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.Rejected, Reason: "The filter was never changed; that is not a defect."},
		},
	},
	{
		product:     "Sony WH-1000XM5 headphones",
		kind:        warranty.Replacement,
		description: "The right side is silent.",
		ago:         160,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.Approved},
			{
				Status:                  warranty.Resolved,
				Resolution:              warranty.Replaced,
				ResolutionNote:          "New pair handed over in the shop.",
				ReplacementSerialNumber: "S01-7720016",
			},
		},
	},
	{
		product:     "De'Longhi Magnifica Evo coffee machine",
		kind:        warranty.Refund,
		description: "It leaks from below.",
		ago:         400,
		moves: []warranty.MoveClaim{
			{Status: warranty.Withdrawn, Reason: "It was the water tank, which was not closed."},
		},
	},
	{
		product:     "Makita DHP486 cordless drill",
		kind:        warranty.Repair,
		description: "The chuck does not hold bits.",
		ago:         380,
		moves: []warranty.MoveClaim{
			{Status: warranty.UnderReview},
			{Status: warranty.Rejected, Reason: "We found no defect."},
			{Status: warranty.UnderReview, Reason: "I enclose a film of it."},
			{Status: warranty.Approved},
			{Status: warranty.InProgress},
			{Status: warranty.Resolved, Resolution: warranty.Repaired},
		},
	},
}

func (t *story) claims(ctx context.Context) error {
	for i, c := range claimStories {
		if err := t.claim(ctx, i, c); err != nil {
			return fmt.Errorf("claim on %s: %w", c.product, err)
		}
	}
	return nil
}

func (t *story) claim(ctx context.Context, seed int, c claimStory) error {
	w := t.made[c.product]
	then := t.daysAgo(c.ago)
	filed, err := then.FileClaim(ctx, t.who[owner], warranty.FileClaim{
		WarrantyID:   warranty.WarrantyKey{ID: w.ID},
		Type:         c.kind,
		Description:  c.description,
		IncidentDate: min(warranty.DateOf(then.Now())-3, w.EndDate), // covered, and before the claim
	})
	if err != nil {
		return err
	}
	if c.photo != "" {
		in := warranty.UploadDocument{
			WarrantyID: warranty.WarrantyKey{ID: w.ID},
			ClaimID:    warranty.ClaimKey{ID: filed.ID},
			Type:       warranty.ClaimEvidence,
			FileName:   c.photo,
		}
		if err := t.upload(ctx, at(t.s, then.Now().Add(10*time.Minute)), owner, in, 100+seed, w); err != nil {
			return err
		}
	}
	for i, move := range c.moves {
		move.ID = warranty.ClaimKey{ID: filed.ID}
		by := cmp.Or(c.decider, seller)
		if move.Status == warranty.Withdrawn || move.Status == warranty.UnderReview && i > 0 {
			by = owner // withdraws, answers or appeals
		}
		later := at(t.s, then.Now().Add(time.Duration(i+1)*7*time.Hour))
		if _, err := later.MoveClaim(ctx, t.who[by], move); err != nil {
			return fmt.Errorf("%s: %w", move.Status, err)
		}
	}
	for i, body := range c.messages {
		later := at(t.s, then.Now().Add(time.Duration(len(c.moves)+i+1)*7*time.Hour))
		in := warranty.WriteMessage{ID: warranty.ClaimKey{ID: filed.ID}, Body: body}
		if _, err := later.WriteMessage(ctx, t.who[owner], in); err != nil {
			return err
		}
	}
	return nil
}

package describe

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"time"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// The samples are values of the real types, with derived fields computed by the real
// rules, so the examples match what the service returns.

var sampleNow = time.Date(2026, time.June, 1, 9, 30, 0, 0, time.UTC)

const (
	sampleRequestID = "019e8267-5f40-7b1d-9c3a-64d0f2a81e57"
	sampleReference = warranty.Reference("WR-7K2M-9QXT-4D8P-HV3A")
	sampleClaim     = warranty.Reference("CL-3F9B-T6WZ-0QKN-58R5")
	samplePassword  = "plum ladder quiet harbour"
	sampleCode      = "7K2M-9QXT-4D8P-HV3E-2F6J"
	sampleNewOwner  = "kim@people.example"
	sampleEmail     = "ada@shop.example"
	sampleNewEmail  = "ada@home.example"
	sampleSHA256    = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
)

// sampleID returns a distinct ID for each value of last.
func sampleID(last byte) warranty.ID {
	return warranty.ID{0x01, 0x9c, 0xa9, 0x3e, 0x5b, 0x40, 0x7a, 0x1c, 0x8d, 0x02, 0x6f, 0x3b, 0x91, 0xc4, 0x20, last}
}

// sampleSecret returns a string of the length of a secret but with an invalid checksum,
// so that it never works and secret scanners ignore it.
func sampleSecret(kind warranty.SecretKind) string { return string(kind) + strings.Repeat("x", 49) }

// sampleRecords returns a realistic record of each type.
func sampleRecords(publicURL string) map[reflect.Type]any {
	user := warranty.User{
		ID:            sampleID(0x10),
		Name:          "Ada Moreno",
		Email:         sampleEmail,
		EmailVerified: true,
		CreatedAt:     sampleNow.AddDate(0, -5, 0),
	}
	w := sampleWarranty(publicURL)
	name := nameOf(w)
	claim := sampleClaimOn(w)
	claim.WebURL = publicURL + "/claims/" + claim.ID.String()
	token := sampleToken()
	fresh := token
	fresh.CreatedAt, fresh.ExpiresAt = sampleNow, sampleNow.AddDate(0, 0, warranty.DefaultTokenDays)
	fresh.LastUsedAt, fresh.Usage = nil, []warranty.DayUsage{}
	before := w
	before.Category = nil
	updated := warranty.Event{
		ID:        sampleID(5),
		At:        w.UpdatedAt,
		Actor:     user.Name,
		Door:      warranty.DoorAPI,
		TokenName: &token.Name,
		Action:    warranty.WarrantyUpdated,
		SubjectID: w.ID,
		Changes:   warranty.Differences(before, w),
	}
	mails := warranty.MailChoices{WarrantyEnd: true, Claims: true}
	records := []any{
		user, w, claim, name, token,
		warranty.Document{
			ID:          sampleID(3),
			WarrantyID:  w.ID,
			ClaimID:     &claim.ID,
			Warranty:    name,
			FileName:    "motor.jpg",
			Type:        warranty.ClaimEvidence,
			ContentType: "image/jpeg",
			SizeBytes:   348_160,
			SHA256:      sampleSHA256,
			CreatedAt:   sampleNow.AddDate(0, 0, -12),
			WebURL:      w.WebURL,
		},
		warranty.EmailedCode{Flow: sampleSecret(warranty.FlowSecret), ExpiresAt: sampleNow.Add(10 * time.Minute)},
		warranty.ClaimMute{ClaimID: claim.ID, Muted: true},
		sampleSummary(), sampleSummary().Groups[0], sampleSummary().Other,
		warranty.TransferOffer{
			WarrantyID: w.ID,
			Email:      sampleNewOwner,
			Mailed:     true,
			Code:       sampleCode,
			ExpiresAt:  sampleNow.Add(warranty.TransferLifetime),
		},
		warranty.HandoverOffer{
			WarrantyID: w.ID,
			Code:       warranty.Optional(sampleCode),
			TakeURL:    warranty.Optional(publicURL + "/take#" + sampleCode),
			ExpiresAt:  sampleNow.Add(warranty.PrintedHandoverLifetime),
		},
		warranty.IssuedWarranty{
			Warranty:  w,
			Code:      warranty.Optional(sampleCode),
			TakeURL:   warranty.Optional(publicURL + "/take#" + sampleCode),
			ExpiresAt: new(sampleNow.Add(warranty.PrintedHandoverLifetime)),
		},
		warranty.HandoverPreview{
			ReferenceNumber: w.ReferenceNumber,
			ProductName:     w.ProductName,
			Status:          w.Status,
			StartDate:       w.StartDate,
			EndDate:         w.EndDate,
			From:            warranty.Party{Name: "Halden Electronics", Domain: new("halden.example")},
			Business:        true,
			Issuer:          &warranty.Party{Name: "Halden Electronics", Domain: new("halden.example")},
			Documents:       []string{},
			ExpiresAt:       sampleNow.Add(warranty.PrintedHandoverLifetime),
		},
		warranty.HandoverSession{
			Session: warranty.Session{
				AccessToken: sampleSecret(warranty.SessionSecret),
				ExpiresAt:   sampleNow.Add(warranty.SessionLifetime),
				User:        user,
			},
			Warranty: w,
		},
		*w.Handover,
		sampleBatch(publicURL, w), sampleBatch(publicURL, w).Results[0],
		sampleConfirmation(w), sampleConfirmation(w).From,
		updated, updated.Changes[0],
		warranty.Account{User: user, Mails: mails}, mails,
		warranty.NewToken{Token: fresh, Secret: sampleSecret(warranty.TokenSecret)},
		samplePasskey(), warranty.AccountPasskeys{Passkeys: []warranty.AccountPasskey{samplePasskey()}},
		sampleSecurity(), *sampleSecurity().TOTP,
		warranty.SecurityChange{Security: sampleSecurity(), Codes: []string{sampleRecoveryCode}},
		warranty.RecoveryCodes{Codes: []string{sampleRecoveryCode}},
		warranty.NewTOTP{
			Secret: sampleTOTPSecret,
			URL: "otpauth://totp/Warranty%20Records:ada%40shop.example?secret=" + sampleTOTPSecret +
				"&issuer=Warranty%20Records&algorithm=SHA1&digits=6&period=30",
		},
		sampleSession(), warranty.AccountSessions{Sessions: []warranty.AccountSession{sampleSession()}},
		warranty.DeletedAccount{ErasedAt: sampleNow.AddDate(0, 0, 30)},
		warranty.DayUsage{Date: warranty.DateOf(sampleNow), Requests: 214},
		warranty.Session{
			AccessToken: sampleSecret(warranty.SessionSecret),
			ExpiresAt:   sampleNow.Add(warranty.SessionLifetime),
			User:        user,
		},
		sampleOrganization(),
		warranty.Membership{
			UserID:       user.ID,
			Name:         user.Name,
			Email:        user.Email,
			Role:         warranty.Member,
			Tokens:       1,
			LastSignInAt: new(sampleNow.Add(-time.Hour)),
			CreatedAt:    sampleNow.AddDate(0, -1, 0),
		},
		warranty.Invitation{
			ID:        sampleID(0x12),
			Email:     "ivo@halden.example",
			Role:      warranty.Member,
			InvitedBy: user.Name,
			CreatedAt: sampleNow,
			ExpiresAt: sampleNow.Add(warranty.InvitationLifetime),
		},
		warranty.Address{ID: sampleID(0x13), Email: "info@halden.example", VerifiedAt: sampleNow.AddDate(0, -1, 0)},
		warranty.OwnAccount(user),
		warranty.AuthStatus{
			User:               user,
			Account:            warranty.OwnAccount(user),
			Credential:         "token",
			Token:              &warranty.TokenName{ID: token.ID, Name: token.Name},
			Scopes:             token.Scopes,
			RateLimitPerMinute: token.RateLimitPerMinute,
			ExpiresAt:          token.ExpiresAt,
		},
		warranty.TokenName{ID: token.ID, Name: token.Name},
		warranty.RequestRecord{
			ID:        sampleID(6),
			Token:     warranty.TokenName{ID: token.ID, Name: token.Name},
			At:        *token.LastUsedAt,
			Method:    "GET",
			Route:     api.ListWarranties.Route(),
			Status:    200,
			Ms:        4,
			RequestID: sampleRequestID,
			Address:   "203.0.113.7",
			Client:    "svc/1.0.0",
			Door:      warranty.DoorCLI,
		},
		sampleLookups(w), sampleLookups(w).Results[0],
		sampleChanges(w), sampleChanges(w).Changed[0],
		warranty.Deletion{ID: sampleID(7), ReferenceNumber: sampleReference, DeletedAt: sampleNow.AddDate(0, 0, -1)},
		warranty.Trashed{
			ID:              w.ID,
			ReferenceNumber: w.ReferenceNumber,
			ProductName:     w.ProductName,
			SerialNumber:    w.SerialNumber,
			Category:        w.Category,
			StartDate:       w.StartDate,
			EndDate:         w.EndDate,
			DeletedAt:       sampleNow.AddDate(0, 0, -1),
			ErasedAt:        sampleNow.AddDate(0, 0, -1).Add(warranty.TrashLifetime),
		},
		w.Verified(sampleStanding(), *w.SerialNumber, sampleNow), *sampleStanding().Issuer,
		sampleDomain(),
		sampleBrand(),
		sampleProduct(),
		sampleMessage(), sampleMessage().Author, sampleMessage().Documents[0],
		sampleHandling(), *sampleHandling().Customer, *sampleHandling().AssignedTo,
		sampleBulk(), sampleBulk().Results[1], *sampleBulk().Results[1].Change,
		warranty.Note{ID: sampleID(12), Author: "Ivo Brenner", Body: "Returned machine. If it is the seal again, replace it.",
			CreatedAt: sampleNow},
		warranty.ClaimCounts{WaitingForUs: 44, InProgress: 9, WaitingForThem: 12, Done: 318, Mine: 11, Unassigned: 19, Replied: 9,
			Oldest: new(sampleNow.AddDate(0, 0, -20))},
		warranty.SavedReply{ID: sampleID(11), Title: "Ask for the type plate", Body: "Please send a photo of the type plate.",
			CreatedAt: sampleNow, UpdatedAt: sampleNow},
		sampleCustomer(), sampleCustomerCard(), sampleCustomerCard().Merged[0],
		warranty.Reminders{Days: warranty.DefaultReminderDays()},
		warranty.WarrantyReminders{Choice: warranty.OwnReminders, Days: warranty.ReminderDays{90, 30}},
		warranty.Pagination{Page: 1, Limit: warranty.DefaultLimit, Total: 1, TotalPages: 1},
		sampleProblem(publicURL, warranty.ValidationFailed),
		sampleProblem(publicURL, warranty.ValidationFailed).Errors[0],
	}
	byType := make(map[reflect.Type]any, len(records))
	for _, r := range records {
		byType[reflect.TypeOf(r)] = r
	}
	return byType
}

func sampleWarranty(publicURL string) warranty.Warranty {
	w := warranty.Warranty{
		ID:              sampleID(1),
		ReferenceNumber: sampleReference,
		ProductName:     "Bosch Serie 6 washing machine",
		Description:     warranty.Optional("Parts and labour. The manufacturer covers the drum motor for ten years."),
		SerialNumber:    warranty.Optional("WGG244A20-0017"),
		ExternalID:      warranty.Optional("order-4711-2"),
		Category:        warranty.Optional("Appliances"),
		Brand:           warranty.Optional("Bosch"),
		Model:           warranty.Optional("WGG244A20"),
		SellerName:      warranty.Optional("Moreno Household"),
		SellerEmail:     warranty.Optional("sales@moreno.example"),
		StartDate:       warranty.NewDate(2026, time.March, 1),
		EndDate:         warranty.NewDate(2028, time.February, 29),
		Standing:        warranty.Active,
		Roles:           warranty.NewRoles(warranty.Owner, warranty.Issuer),
		VerifyURL:       publicURL + "/verify/" + string(sampleReference),
		WebURL:          publicURL + "/warranties/" + sampleID(1).String(),
		CreatedAt:       sampleNow.AddDate(0, -3, 0),
		UpdatedAt:       sampleNow.AddDate(0, 0, -14),
	}
	w.ShowTo(sampleNow)
	return w
}

func sampleStanding() warranty.Standing {
	return warranty.Standing{Issuer: warranty.NewParty("Halden Electronics", warranty.Optional("halden.example"))}
}

func sampleBrand() warranty.Brand {
	b := warranty.Brand{
		Shown:         true,
		LogoURL:       new("https://warranties.example" + warranty.PartyBrand{Logo: sampleSHA256}.LogoPath()),
		SenderName:    new("Halden Service"),
		PostalAddress: new("Hafenstraße 12\n20457 Hamburg"),
	}
	b.SetColor("#1d3f8f")
	return b
}

func sampleDomain() warranty.Domain {
	return warranty.Domain{
		ID:         sampleID(9),
		Domain:     "halden.example",
		Status:     warranty.DomainWaiting,
		RecordName: "_warranty.halden.example",
		RecordText: "warranty-verification=7k2m9qxt4d8phv3e2f6j",
		CreatedAt:  sampleNow,
	}
}

func sampleCustomer() warranty.CustomerRecord {
	return warranty.CustomerRecord{
		ID:            sampleID(13),
		Name:          warranty.Optional("Andrea Müller"),
		Email:         warranty.Optional("a.mueller@post.example"),
		Phone:         warranty.Optional("+49 421 555 0188"),
		Warranties:    4,
		OpenClaims:    1,
		WaitingClaims: 1,
		UntakenOffers: 1,
		LastContactAt: sampleNow,
	}
}

func sampleCustomerCard() warranty.CustomerCard {
	merged := sampleNow.AddDate(0, 0, -2)
	return warranty.CustomerCard{
		CustomerRecord: sampleCustomer(),
		Note:           warranty.Optional("Call after 17:00."),
		CreatedAt:      sampleNow.AddDate(-3, 0, 0),
		Merged: []warranty.MergedCustomer{{
			ID: sampleID(14), Name: warranty.Optional("A. Mueller"), MergedAt: merged,
			UndoUntil: new(merged.Add(warranty.CustomerMergeUndo)),
		}},
		Duplicates: []warranty.CustomerRecord{},
		Version:    1,
	}
}

func sampleProduct() warranty.Product {
	months := 24
	return warranty.Product{
		ID:           sampleID(10),
		Name:         "Tessel induction hob T64",
		Brand:        warranty.Optional("Tessel"),
		Model:        warranty.Optional("T64"),
		GTIN:         warranty.Optional("2000000064116"),
		Category:     warranty.Optional("Appliances"),
		LengthMonths: &months,
		Terms:        warranty.Optional("Parts and labour."),
		CreatedAt:    sampleNow,
		UpdatedAt:    sampleNow,
	}
}

func sampleMessage() warranty.Message {
	return warranty.Message{
		ID:     sampleID(12),
		Author: warranty.Author{Name: "Nora Lindqvist", Role: warranty.OwnerSide},
		Body:   "Here is the type plate.",
		Documents: []warranty.MessageDocument{
			{ID: sampleID(3), FileName: "type-plate.jpg", ContentType: "image/jpeg", SizeBytes: 214_532},
		},
		CreatedAt: sampleNow,
	}
}

func sampleHandling() warranty.ClaimHandling {
	ivo := warranty.Assignee{ID: sampleID(6), Name: "Ivo Brenner"}
	return warranty.ClaimHandling{
		ClaimID:    sampleID(2),
		Customer:   &warranty.Customer{Name: "Nora Lindqvist", Email: "nora@people.example"},
		AssignedTo: &ivo,
		Assignable: []warranty.Assignee{ivo},
	}
}

func sampleBatch(publicURL string, w warranty.Warranty) warranty.BatchResults {
	problem := sampleProblem(publicURL, warranty.ValidationFailed)
	return warranty.BatchResults{Results: []warranty.BatchResult{
		{Status: warranty.BatchCreated, ID: &w.ID, ReferenceNumber: &w.ReferenceNumber, ExternalID: w.ExternalID},
		{Status: warranty.BatchFailed, Problem: &problem},
	}}
}

func sampleConfirmation(w warranty.Warranty) warranty.Confirmation {
	return warranty.Confirmation{
		WarrantyID:      w.ID,
		ReferenceNumber: w.ReferenceNumber,
		ProductName:     w.ProductName,
		SerialNumber:    w.SerialNumber,
		StartDate:       w.StartDate,
		EndDate:         w.EndDate,
		SellerName:      w.SellerName,
		SellerEmail:     *w.SellerEmail,
		From:            warranty.ConfirmationFrom{Name: "Robin Ferrer", Kind: warranty.PersonKind},
		CreatedAt:       w.CreatedAt,
		Status:          warranty.ConfirmationPending,
	}
}

func sampleSummary() warranty.Summary {
	active := warranty.Active.String()
	return warranty.Summary{
		Today:   warranty.DateOf(sampleNow),
		GroupBy: warranty.GroupByStatus,
		Total:   12,
		Groups:  []warranty.Group{{Value: &active, Count: 12}},
	}
}

func sampleLookups(w warranty.Warranty) warranty.Lookups {
	by := warranty.ByExternalID
	return warranty.Lookups{Results: []warranty.Lookup{{
		MatchedBy:       &by,
		MatchedFields:   []string{by.String()},
		WarrantyID:      &w.ID,
		ReferenceNumber: &w.ReferenceNumber,
		ProductName:     &w.ProductName,
		Status:          &w.Status,
		StartDate:       &w.StartDate,
		EndDate:         &w.EndDate,
	}, {MatchedFields: []string{}}}}
}

// sampleChanges is what changed since a cursor.
func sampleChanges(w warranty.Warranty) warranty.Changes {
	at := warranty.FeedPosition{At: sampleNow, ID: w.ID}
	return warranty.Changes{
		Changed: []warranty.ChangedWarranty{{
			ID:              w.ID,
			ReferenceNumber: w.ReferenceNumber,
			ProductName:     w.ProductName,
			Status:          w.Status,
			EndDate:         w.EndDate,
			UpdatedAt:       w.UpdatedAt,
		}},
		Left:   []warranty.Deletion{},
		Cursor: warranty.ChangesCursor{Changed: at, Left: at},
	}
}

func nameOf(w warranty.Warranty) warranty.WarrantyName {
	return warranty.WarrantyName{ID: w.ID, ReferenceNumber: w.ReferenceNumber, ProductName: w.ProductName}
}

func sampleBulk() warranty.ClaimBulk {
	code, detail, approved := warranty.PreconditionFailed, "The claim was changed meanwhile.", warranty.Approved
	return warranty.ClaimBulk{
		ID: sampleID(15), Action: warranty.AskClaims, CreatedAt: sampleNow, UndoUntil: new(sampleNow.Add(warranty.BulkUndo)),
		Results: []warranty.ClaimBulkResult{
			{ClaimID: sampleID(2), Outcome: warranty.ClaimDone},
			{ClaimID: sampleID(16), Outcome: warranty.ClaimSkipped, Code: &code, Detail: &detail, Change: &warranty.ClaimChange{
				By: "Ivo Brenner", At: sampleNow, Status: &approved, Action: warranty.ClaimMoved,
			}},
		},
	}
}

func sampleClaimOn(w warranty.Warranty) warranty.Claim {
	return warranty.Claim{
		ID:           sampleID(2),
		ClaimNumber:  sampleClaim,
		WarrantyID:   w.ID,
		Warranty:     nameOf(w),
		Type:         warranty.Repair,
		Description:  "The drum no longer turns; the motor hums.",
		IncidentDate: warranty.NewDate(2026, time.May, 18),
		Status:       warranty.UnderReview,
		ManagedBy:    warranty.ManagedByBusiness,
		WaitingFor:   new(warranty.BusinessSide),
		StatusReason: warranty.Optional("A technician will call within three days."),
		CreatedAt:    sampleNow.AddDate(0, 0, -12),
		UpdatedAt:    sampleNow.AddDate(0, 0, -11),
		WaitingSince: new(sampleNow.AddDate(0, 0, -12)),
		Queue:        warranty.WaitingForUs,
		Fault:        "The drum no longer turns; the motor hums.",
		Customer:     sampleHandling().Customer,
		Assignee:     sampleHandling().AssignedTo,
	}
}

func sampleSession() warranty.AccountSession {
	return warranty.AccountSession{
		ID: sampleID(0x20), Current: true, Method: new(warranty.MethodPassword), Program: "Firefox", System: "macOS",
		Network: "192.0.2.x", CreatedAt: sampleNow.Add(-time.Hour), LastSeenAt: sampleNow,
		ExpiresAt: sampleNow.Add(warranty.WebSessionLifetime - time.Hour),
	}
}

func samplePasskey() warranty.AccountPasskey {
	return warranty.AccountPasskey{ID: sampleID(0x21), Name: "iPhone", Synced: true, CreatedAt: sampleNow.Add(-24 * time.Hour),
		LastUsedAt: new(sampleNow.Add(-time.Hour))}
}

// Samples of second factors.
const (
	sampleTOTP         = "492039"
	sampleTOTPSecret   = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	sampleRecoveryCode = "7Q2M-0XRT-KD9W-5HVC-B3YE-8NAF"
)

func sampleSecurity() warranty.Security {
	return warranty.Security{
		TwoStep: true, TwoStepSince: new(sampleNow.Add(-time.Minute)), TOTP: &warranty.TOTP{AddedAt: sampleNow.Add(-2 * time.Minute)},
		TOTPAvailable: true, RecoveryCodesLeft: 10,
	}
}

func sampleToken() warranty.Token {
	used := sampleNow.Add(-40 * time.Second)
	t := warranty.Token{
		ID:                 sampleID(4),
		Name:               "ERP",
		Prefix:             sampleSecret(warranty.TokenSecret)[:warranty.PrefixLength],
		Scopes:             warranty.Scopes{warranty.WarrantiesRead, warranty.WarrantiesWrite},
		RateLimitPerMinute: warranty.DefaultTokenRate,
		CreatedAt:          sampleNow.AddDate(0, -2, 0),
		ExpiresAt:          sampleNow.AddDate(0, -2, warranty.DefaultTokenDays),
		LastUsedAt:         &used,
		Usage: []warranty.DayUsage{
			{Date: warranty.DateOf(sampleNow) - 1, Requests: 1480},
			{Date: warranty.DateOf(sampleNow), Requests: 214},
		},
	}
	t.Show(sampleNow)
	return t
}

// sampleInput returns the sample input of an operation: the one in sampleInputs, or else
// one with the examples in the struct tags.
func sampleInput(s *api.Spec) (any, error) {
	if in, ok := sampleInputs()[s.In]; ok {
		return in, nil
	}
	values := url.Values{}
	for _, p := range s.Params {
		switch {
		case p.In != api.Body || p.Example == "":
		case p.Type.Kind() == reflect.Slice:
			values[p.Name] = strings.Split(p.Example, ",")
		default:
			values.Set(p.Name, p.Example)
		}
	}
	return s.DecodeForm(values)
}

// sampleInputs returns realistic inputs, for operations whose struct tags do not have
// enough examples.
func sampleInputs() map[reflect.Type]any {
	w, supplier := sampleWarranty(""), "Brandt Home Appliances"
	claim := sampleClaimOn(w)
	rate, overlap, name, phone, mail := warranty.DefaultTokenRate, 3600, "Ada Moreno", "+46 8 123 456", false
	product, threeYears := sampleProduct(), 36
	inputs := []any{
		&warranty.CreateWarranty{
			ProductName:  w.ProductName,
			StartDate:    w.StartDate,
			EndDate:      w.EndDate,
			SerialNumber: *w.SerialNumber,
			Category:     *w.Category,
			SellerName:   *w.SellerName,
			SellerEmail:  *w.SellerEmail,
		},
		&warranty.IssueWarranty{
			ProductID:    &product.ID,
			SerialNumber: "T64-0311-Q8AX",
			ExternalID:   "order-4711-2",
			CustomerName: "Kim Larsen",
			Print:        new(true),
		},
		&warranty.EndOtherSessions{Others: true},
		&warranty.LookupWarranties{Items: []warranty.LookupItem{
			{ExternalID: *w.ExternalID},
			{SerialNumber: "K-1", ProductName: "Kettle"},
		}},
		&warranty.UpdateWarranty{Category: w.Category, Supplier: &supplier},
		&warranty.FileClaim{
			WarrantyID:   warranty.WarrantyKey{ID: w.ID},
			Type:         claim.Type,
			Description:  claim.Description,
			IncidentDate: claim.IncidentDate,
		},
		&warranty.MoveClaim{ID: warranty.ClaimKey{ID: claim.ID}, Status: claim.Status, Reason: *claim.StatusReason},
		&warranty.WriteMessage{ID: warranty.ClaimKey{ID: claim.ID}, Body: sampleMessage().Body},
		&warranty.BulkClaims{Action: warranty.AskClaims, Items: []warranty.ClaimItem{{ID: claim.ID}}, AssignTo: warranty.AssignedToMe,
			Message: "Hello {first name}, please send a photo of the type plate of your {product}."},
		&warranty.MuteClaim{ID: warranty.ClaimKey{ID: claim.ID}, Muted: new(true)},
		&warranty.AssignClaim{ID: warranty.ClaimKey{ID: claim.ID}, UserID: &sampleHandling().AssignedTo.ID},
		&warranty.UpdateReply{Title: new("Type plate")},
		&warranty.AddCustomer{Name: "Andrea Müller", Email: "a.mueller@post.example", Note: "Call after 17:00."},
		&warranty.UpdateCustomer{Phone: new("+49 421 555 0188"), Note: new("Call after 17:00.")},
		&warranty.MergeCustomers{IntoID: sampleID(13), FromID: sampleID(14)},
		&warranty.UpdateReminders{Days: warranty.ReminderDays{60, 14}},
		&warranty.UpdateWarrantyReminders{
			ID: warranty.WarrantyKey{ID: w.ID}, Choice: warranty.OwnReminders, Days: warranty.ReminderDays{90, 30},
		},
		&warranty.OfferTransfer{ID: warranty.WarrantyKey{ID: w.ID}, Email: sampleNewOwner},
		&warranty.CreateBatch{Items: []warranty.BatchItem{
			{Text: []byte(`{"external_id":"order-4711-2","product_name":"Bosch Serie 6 washing machine","start_date":"2026-03-01","end_date":"2028-02-29"}`)},
			{Text: []byte(`{"product_name":"Kettle","start_date":"2026-03-01","end_date":"2026-02-28"}`)},
		}},
		&warranty.OfferHandover{ID: warranty.WarrantyKey{ID: w.ID}, CustomerName: "Kim Larsen"},
		&warranty.TakeHandover{Code: sampleCode},
		&warranty.PreviewHandover{Code: sampleCode},
		&warranty.EmailHandover{Code: sampleCode, Email: sampleNewOwner},
		&warranty.RegisterHandover{Code: sampleCode, Name: "Kim Larsen"},
		&warranty.AddDomain{Domain: "halden.example"},
		&warranty.UpdateBrand{Color: new("")},
		&warranty.CreateProduct{
			Name: product.Name, Brand: *product.Brand, Model: *product.Model, GTIN: *product.GTIN, Category: *product.Category,
			LengthMonths: product.LengthMonths, Terms: *product.Terms,
		},
		&warranty.UpdateProduct{LengthMonths: &threeYears},
		&warranty.DecideConfirmation{ID: warranty.WarrantyKey{ID: w.ID}, Decision: warranty.Confirm, IfMatch: `"1"`},
		&warranty.UpdateAccount{Name: &name, MailTokenExpiry: &mail},
		&warranty.CreateToken{
			Name:               "ERP",
			Scopes:             []string{string(warranty.WarrantiesRead), string(warranty.WarrantiesWrite)},
			RateLimitPerMinute: &rate,
		},
		&warranty.RotateToken{OverlapSeconds: &overlap},
		&warranty.Register{Name: "Kim Larsen", Email: "kim.larsen@people.example", Password: samplePassword},
		&warranty.SignIn{Email: sampleEmail, Password: samplePassword},
		&warranty.VerifyEmail{Code: sampleCode},
		&warranty.RequestSignInCode{Email: sampleEmail},
		&warranty.RequestPasswordReset{Email: sampleEmail},
		&warranty.ResetPassword{Code: sampleCode, Password: samplePassword},
		&warranty.CreateOrganization{
			Name:         "Halden Electronics",
			Website:      "https://halden.example",
			ContactEmail: "service@halden.example",
		},
		&warranty.UpdateOrganization{ContactPhone: &phone, MailClaims: &mail},
		&warranty.UpdateMember{Role: warranty.Viewer},
		&warranty.CreateInvitation{Email: "ivo@halden.example", Role: warranty.Member},
		&warranty.AcceptInvitation{Code: sampleCode},
		&warranty.AddAddress{Email: "info@halden.example"},
		&warranty.VerifyAddress{Code: sampleCode},
		&warranty.ConvertAccount{OrganizationName: "Halden Electronics", Name: "Nora Lindqvist", Email: "nora@people.example",
			Password: samplePassword},
		&warranty.CancelConversion{Code: sampleCode},
		&warranty.ConfirmConversion{Code: sampleCode},
		&warranty.ConfirmSession{Password: samplePassword},
		&warranty.ChangeEmail{Email: sampleNewEmail},
		&warranty.ConfirmEmail{Code: sampleCode},
		&warranty.DeleteAccount{Email: sampleEmail},
		&warranty.RestoreAccount{Flow: sampleSecret(warranty.FlowSecret)},
		&warranty.NotMe{Code: sampleCode},
		&warranty.UpdateSecurity{TwoStep: new(true)},
		&warranty.ConfirmTOTP{Code: sampleTOTP},
		&warranty.ChangePassword{CurrentPassword: samplePassword, NewPassword: "seven grey herons waiting"},
	}
	byType := make(map[reflect.Type]any, len(inputs))
	for _, in := range inputs {
		byType[reflect.TypeOf(in).Elem()] = in
	}
	return byType
}

// sampleProblem returns an example problem with the code. Where possible, the message
// is that of the real rule.
func sampleProblem(publicURL string, code warranty.Code) warranty.Problem {
	token := warranty.Principal{Credential: warranty.ByToken, Scopes: warranty.Scopes{warranty.WarrantiesRead}}
	w := sampleWarranty(publicURL)
	active := warranty.Active
	var err error
	switch code {
	case warranty.MissingCredential:
		err = api.CreateWarranty.Allow(warranty.Principal{})
	case warranty.InsufficientScope:
		err = api.CreateWarranty.Allow(token)
	case warranty.SessionRequired:
		err = api.CreateToken.Allow(token)
	case warranty.RoleNotAllowed:
		err = warranty.NewRoles(warranty.Seller).May(warranty.Delete)
	case warranty.NotFound:
		err = api.GetWarranty.NotFound()
	case warranty.InvalidTransition:
		w.Standing = warranty.Cancelled
		_, err = warranty.UpdateWarranty{Status: &active}.Apply(w)
	case warranty.ValidationFailed:
		err = (&warranty.CreateWarranty{StartDate: w.EndDate, EndDate: w.StartDate}).Check()
	}
	var refusal *warranty.Error
	if !errors.As(err, &refusal) {
		refusal = warranty.Refuse(code, "%s", code.Info().Fix)
	}
	return refusal.Problem(publicURL, sampleRequestID)
}

func sampleOrganization() warranty.Organization {
	return warranty.Organization{
		ID:           sampleID(0x11),
		Name:         "Halden Electronics",
		Website:      warranty.Optional("https://halden.example"),
		ContactEmail: warranty.Optional("service@halden.example"),
		Role:         warranty.Admin,
		Mails:        warranty.MailChoices{Claims: true},
		Members:      5,
		CreatedAt:    sampleNow.AddDate(0, -2, 0),
	}
}
